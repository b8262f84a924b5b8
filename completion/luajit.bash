# SPDX-License-Identifier: MIT
# Completion of luajit -jm for bash, which looks for it by this name.
. "${BASH_SOURCE[0]%/*}/luajit-mp.bash"
