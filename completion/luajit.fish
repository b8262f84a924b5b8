# SPDX-License-Identifier: MIT
# Completion of luajit -jm for fish, which looks for it by this name.
source (status dirname)/luajit-mp.fish
