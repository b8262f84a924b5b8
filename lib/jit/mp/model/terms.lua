-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- Names for people: VM states, the collector's phases, and absent values.
----------------------------------------------------------------------------

return {
  states = {
    N = "Compiled", I = "Interpreted", C = "C code",
    G = "Garbage Collector", J = "JIT Compiler"
  },
  phases = { "pause", "mark", "sweep", "finalize" }, -- As the core has them.
  main_chunk = "main chunk",
  iterator = "(iterator)",
  c_function = "(C function)",
  no_line = "(no line)",
  no_stack = "(no stack)",
  no_zone = "(no zone)",
  no_label = "(no label)",
  other = "(other)", -- As the core has it.
  event_loop = "(event loop)", -- As the core has it.
  before = "(before the profile)", -- Memory in use when it began.
  unsampled = "(not sampled)", -- Memory in use of which there is no sample.
  no_type = "other",
  rough = "~",
  rough_note = "~ fewer than nine samples: may be off by a third or more",
}
