/*
 * wal.c - a change of one page or two, or some new pages, and the WAL record.
 *
 * GenericXLogFinish finds what has changed by comparing the page with the copy
 * that the caller has written to, byte by byte.  For a row of some 40 bytes that
 * is the most of an insert's time.  An insert knows what it changes.  So it writes
 * the generic record itself: for each change of a page its offset and length, as
 * two OffsetNumbers, and then its bytes.  The server's own redo function reads it
 * (generic_xlog.c), in recovery and on standbys, which need not have the extension.
 *
 * That format is internal to the server.  GENERIC_RECORD_IS_KNOWN (compat.h) names
 * the versions that were looked at and tested.  With any other, changes go through
 * GenericXLogStart and GenericXLogFinish.
 */
#include "pg/index/pages/wal.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/rel.h"

void
BloomxStartChanges(BloomxChange *changes, int n, Relation index)
{
#if GENERIC_RECORD_IS_KNOWN
	for (int i = 0; i < n; i++)
	{
		changes[i].state = NULL;
		changes[i].page = BufferGetPage(changes[i].buffer);
		changes[i].length = 0;
	}
	START_CRIT_SECTION();
#else
	GenericXLogState *state = GenericXLogStart(index);

	for (int i = 0; i < n; i++)
	{
		changes[i].state = state;
		changes[i].page = GenericXLogRegisterBuffer(state, changes[i].buffer, 0);
	}
#endif
}

static void
AddToRecord(BloomxChange *change, const void *bytes, Size length)
{
	Assert(change->length + length <= sizeof change->record);
	memcpy(change->record + change->length, bytes, length);
	change->length += length;
}

void
BloomxChangeBytes(BloomxChange *change, void *place, const void *bytes, uint32 length)
{
	const OffsetNumber header[2] = {(char *) place - (char *) change->page, length};

	memcpy(place, bytes, length);
	if (change->state == NULL)
	{
		AddToRecord(change, header, sizeof header);
		AddToRecord(change, bytes, length);
	}
}

/*
 * Each run of bytes has four bytes of its own in the record, so a gap of that many is
 * logged with its neighbours.
 */
#define GAP sizeof(OffsetNumber[2])

/* The first byte from there on that differs, or length. */
static uint32
NextDifference(const char *old, const char *new, uint32 from, uint32 length)
{
	for (; from + sizeof(uint64) <= length; from += sizeof(uint64))
	{
		uint64		a,
					b;

		memcpy(&a, old + from, sizeof a);
		memcpy(&b, new + from, sizeof b);
		if (a != b)
#ifdef WORDS_BIGENDIAN
			return from + (63 - pg_leftmost_one_pos64(a ^ b)) / 8;
#else
			return from + pg_rightmost_one_pos64(a ^ b) / 8;
#endif
	}
	while (from < length && old[from] == new[from])
		from++;
	return from;
}

void
BloomxChangeSomeBytes(BloomxChange *change, void *place, const void *bytes, uint32 length)
{
	const char *old = place,
			   *new = bytes;
	uint32		next;

	for (uint32 from = NextDifference(old, new, 0, length); from < length; from = next)
	{
		uint32		last = from;

		while ((next = NextDifference(old, new, last + 1, length)) < length && next - last <= GAP)
			last = next;
		BloomxChangeBytes(change, (char *) place + from, new + from, last - from + 1);
	}
}

void
BloomxFinishChanges(BloomxChange *changes, int n, Relation index)
{
	if (changes->state != NULL)
	{
		GenericXLogFinish(changes->state);
		return;
	}
	for (int i = 0; i < n; i++)
		MarkBufferDirty(changes[i].buffer);
	if (RelationNeedsWAL(index))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		for (int i = 0; i < n; i++)
		{
			/* an image is hardly longer than the changes of most of a page */
			bool		whole = changes[i].length > BLCKSZ - BLCKSZ / 8;

			XLogRegisterBuffer(i, changes[i].buffer, REGBUF_STANDARD | (whole ? REGBUF_FORCE_IMAGE : 0));
			if (!whole)
				XLogRegisterBufData(i, changes[i].record, changes[i].length);
		}
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		for (int i = 0; i < n; i++)
			PageSetLSN(changes[i].page, lsn);
	}
	END_CRIT_SECTION();
}

/*
 * GenericXLogRegisterBuffer would copy each page before it is written, and
 * GenericXLogFinish once more.  A record of images has no other contents, whatever
 * the server's format of changes is.
 */
void
BloomxWriteImages(Relation index, BlockNumber first, const PGAlignedBlock *images, int n)
{
	Buffer		buffers[MAX_GENERIC_XLOG_PAGES];

	Assert(n <= MAX_GENERIC_XLOG_PAGES);
	for (int i = 0; i < n; i++)
		buffers[i] = ReadBufferExtended(index, MAIN_FORKNUM, first + i, RBM_ZERO_AND_LOCK, NULL);
	START_CRIT_SECTION();
	for (int i = 0; i < n; i++)
	{
		memcpy(BufferGetPage(buffers[i]), images[i].data, BLCKSZ);
		MarkBufferDirty(buffers[i]);
	}
	if (RelationNeedsWAL(index))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		for (int i = 0; i < n; i++)
			XLogRegisterBuffer(i, buffers[i], REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		for (int i = 0; i < n; i++)
			PageSetLSN(BufferGetPage(buffers[i]), lsn);
	}
	END_CRIT_SECTION();
	for (int i = 0; i < n; i++)
		UnlockReleaseBuffer(buffers[i]);
}
