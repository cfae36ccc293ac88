/*
 * combine.c - a filter made of others.
 */
#include "pg/value/combine.h"

#include "core/layouts/hashes.h"
#include "pg/keys/keys.h"
#include "pg/value/growth.h"

blx_filter *
CopyForKeys(const blx_filter *f, const blx_identity *keys)
{
	blx_identity of_filter = blx_identity_of(f);
	blx_identity joint = JointIdentity(&of_filter, keys);
	blx_filter *copy;

	if (f->key_type != BLX_KEY_NONE)
		return CopyFilter(f);
	if (f->layout == BLX_HASHES)
		return CopyHashes(f, blx_hashes_slots(f), &joint);
	copy = AllocFilter(blx_size(f) - blx_header_bytes(f->name_len) + blx_header_bytes(joint.name_len));
	blx_copy_as(copy, f, &joint);
	return copy;
}
