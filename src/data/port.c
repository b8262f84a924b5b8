/* SPDX-License-Identifier: MIT */
/*
** See data/port.h.
*/
#include "config.h"

#include <dlfcn.h>

#include "data/port.h"

static mp_port *port;		/* Set once, before a second thread uses it. */

mp_port *mp_port_find(void)
{
  mp_port *p;
  if (port != NULL) return port;
  p = dlsym(RTLD_DEFAULT, MP_PORT_SYMBOL);
  if (p != NULL && p->version == MP_PORT_VERSION) port = p;
  return port;
}

void mp_port_pause(void)
{
  if (port != NULL) port->pause(1);
}

void mp_port_resume(void)
{
  if (port != NULL) port->pause(-1);
}
