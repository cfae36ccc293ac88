/*
 * change.c - one change of one page, and its WAL record.
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
#include "pg/index/bloomx/index.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "utils/rel.h"

void
BloomxStartChange(BloomxChange *change, Relation index, Buffer buffer)
{
	change->index = index;
	change->buffer = buffer;
	change->length = 0;
#if GENERIC_RECORD_IS_KNOWN
	change->state = NULL;
	change->page = BufferGetPage(buffer);
	START_CRIT_SECTION();
#else
	change->state = GenericXLogStart(index);
	change->page = GenericXLogRegisterBuffer(change->state, buffer, 0);
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

void
BloomxFinishChange(BloomxChange *change)
{
	if (change->state != NULL)
	{
		GenericXLogFinish(change->state);
		return;
	}
	MarkBufferDirty(change->buffer);
	if (RelationNeedsWAL(change->index))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterBuffer(0, change->buffer, REGBUF_STANDARD);
		XLogRegisterBufData(0, change->record, change->length);
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		PageSetLSN(change->page, lsn);
	}
	END_CRIT_SECTION();
}
