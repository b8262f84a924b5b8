# SPDX-License-Identifier: MIT
# Completion of luajit-mp, and of luajit -jm, for fish.

function __luajit_mp_command
    contains -- (commandline -opc)[2] $argv
end

# Processes with LuaJIT among their files.
function __luajit_mp_processes
    for maps in (grep -l -s -i luajit /proc/*/maps)
        set -l pid (string match -r '[0-9]+' $maps)
        test -n "$pid"; and printf '%s\t%s\n' $pid \
            (cat /proc/$pid/comm 2>/dev/null; or echo)
    end
end

# An option string with one letter more, and what that letter says: the word,
# of which the option itself matches the pattern. The rest is a command that
# lists the letters.
function __luajit_mp_letters
    set -l word (commandline -ct)
    set -l given (string replace -r -- $argv[1] '' $word)
    $argv[2..] 2>/dev/null </dev/null |
        sed -n 's/^  \([A-Za-z]\)[^ ]*  *\(view: [^;]*\|[^;:(]*\).*/\1\t\2/p' |
        while read -l line
        string match -q -- '*'(string sub -l 1 -- $line)'*' "$given"
        or echo $word$line
    end
end

set -l first 'test (count (commandline -opc)) -eq 1'
complete -c luajit-mp -n $first -f -a run -d 'profiles a program'
complete -c luajit-mp -n $first -f -a attach -d 'profiles a process'
complete -c luajit-mp -n $first -f -a top -d 'shows a process live'
complete -c luajit-mp -n $first -f -a report -d 'shows a profile'
complete -c luajit-mp -n $first -f -a diff -d 'compares two profiles'
complete -c luajit-mp -n $first -f -a merge -d 'adds profiles up'
complete -c luajit-mp -n $first -f -a convert -d 'writes another format'
complete -c luajit-mp -n $first -f -a push -d 'sends profiles to a server'
complete -c luajit-mp -n $first -f -a open -d 'shows a profile in a browser'
complete -c luajit-mp -n $first -f -a help -d 'describes a command'
complete -c luajit-mp -n $first -s V -l version -d 'prints the version'
complete -c luajit-mp -n '__luajit_mp_command help' -f \
    -a 'run attach top report diff merge convert push open'
complete -c luajit-mp -n '__luajit_mp_command attach top' -f \
    -a '(__luajit_mp_processes)'
complete -c luajit-mp -n '__luajit_mp_command report diff merge push open' \
    -k -x -a '(__fish_complete_suffix .mp)'
complete -c luajit-mp -s h -l help -d 'prints help'
complete -c luajit-mp -n '__luajit_mp_command run attach report diff merge' \
    -s o -l output -r -d 'the output'
complete -c luajit-mp \
    -n '__luajit_mp_command run attach top report diff convert push open' \
    -s O -l options -x -d 'the report' -a '(__luajit_mp_letters \
    "^(-O|--options=)" (commandline -opc)[1] run -O H)'
complete -c luajit-mp \
    -n '__luajit_mp_command run attach report diff convert open' \
    -l no-source -d 'leaves sources out of a page'
complete -c luajit-mp -n '__luajit_mp_command run report' \
    -l sort -x -a 'c h u x Y U name' -d 'order of rows'
complete -c luajit-mp -n '__luajit_mp_command diff' \
    -l sort -x -a 'change before after name' -d 'order of rows'
complete -c luajit-mp -n '__luajit_mp_command run' \
    -l native -d 'measures C memory too'
complete -c luajit-mp -n '__luajit_mp_command attach report diff convert open' \
    -l source-root -x -a '(__fish_complete_directories)' \
    -d 'directory of the sources'
complete -c luajit-mp -n '__luajit_mp_command report' \
    -l leak-only -d 'shows only the heap summary'
complete -c luajit-mp -n '__luajit_mp_command diff' \
    -l share -d 'compares shares of the totals'
complete -c luajit-mp -n '__luajit_mp_command diff' \
    -l threshold -x -d 'fails if a total grew by more'
complete -c luajit-mp -n '__luajit_mp_command attach top' \
    -s t -l time -x -d 'how long, in seconds'
complete -c luajit-mp -n '__luajit_mp_command attach' \
    -l outside -d 'loads nothing into it'
complete -c luajit-mp -n '__luajit_mp_command attach top' \
    -l state -x -d 'which Lua state'
# Of luajit what follows -jm=, a word of its own: letters.
complete -c luajit -n 'string match -q -- "-jm=*" (commandline -ct)' -f \
    -a '(__luajit_mp_letters "^-jm=" (commandline -opc)[1] -jm=H)'
