/* SPDX-License-Identifier: MIT */
/* An object for t/unit/slots: it calls a function, and takes its address. */
#include <unistd.h>

__attribute__((visibility("default"))) pid_t called(void);
__attribute__((visibility("default"))) pid_t (*taken(void))(void);

pid_t called(void) { return getppid(); }

pid_t (*taken(void))(void) { return getppid; }
