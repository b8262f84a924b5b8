/* SPDX-License-Identifier: MIT */
/*
** The modules of this installation, in a program's state.
*/
#ifndef MP_INTERFACE_H
#define MP_INTERFACE_H

#include "lua.h"



#endif
