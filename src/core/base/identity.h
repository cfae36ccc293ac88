/*
 * identity.h - whose the keys of a filter are, beyond what bloomx.h says.
 */
#ifndef BLX_IDENTITY_H
#define BLX_IDENTITY_H

#include "core/bloomx.h"

#pragma GCC visibility push(hidden)

/* True if that is the code of a key type. */
extern bool blx_key_type_known(uint8_t code);

#pragma GCC visibility pop

#endif							/* BLX_IDENTITY_H */
