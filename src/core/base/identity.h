/*
 * identity.h - whose the keys of a filter are, beyond what bloomx.h says.
 */
#ifndef BLX_IDENTITY_H
#define BLX_IDENTITY_H

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/* True if that is the code of a key type. */
extern bool blx_key_type_known(uint8_t code);

/* blx_identity_check for a caller that needs no reason. */
extern bool blx_same_keys(const blx_identity *a, const blx_identity *b);

/* False with the reason if the fields of an identity do not go together. */
extern bool blx_identity_valid(const blx_identity *id, blx_error *error);

/* The identity of a filter that has the keys of both: a's, or a's seed with b's key type if a has none. */
extern blx_identity blx_joint_identity(const blx_identity *a, const blx_identity *b);

#pragma GCC visibility pop

#endif							/* BLX_IDENTITY_H */
