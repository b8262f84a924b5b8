# SPDX-License-Identifier: MIT
# Completion of luajit-mp, and of luajit -jm, for bash.

# Files with a suffix, and directories.
_luajit_mp_files() {
  COMPREPLY=($(compgen -f -X "!*$1" -- "$cur") $(compgen -d -- "$cur"))
}

# Processes with LuaJIT among their files, of several with their names: what
# they have in common is only the beginning of the numbers.
_luajit_mp_processes() {
  local maps pid list=()
  for maps in $(grep -l -s -i luajit /proc/[0-9]*/maps); do
    pid=${maps#/proc/} pid=${pid%/maps}
    [[ $pid == "$cur"* && $pid != "$BASHPID" ]] || continue
    list+=("$pid $(cat "/proc/$pid/comm" 2>/dev/null)")
  done
  [ ${#list[@]} -ne 1 ] || list=("${list[0]%% *}")
  COMPREPLY=("${list[@]}")
}

# An option string with one letter more, and what that letter says. The words
# are a command that lists them.
_luajit_mp_letters() {
  local letter text list=()
  while read -r letter text; do
    [[ $cur == *"$letter"* ]] || list+=("$cur$letter $text")
  done < <("$@" 2>/dev/null </dev/null | sed -n \
    's/^  \([A-Za-z]\)[^ ]*  *\(view: [^;]*\|[^;:(]*\).*/\1 \2/p')
  [ ${#list[@]} -ne 1 ] || list=("${list[0]%% *}")
  COMPREPLY=("${list[@]}")
  compopt +o filenames -o nospace -o nosort 2>/dev/null
}

_luajit_mp() {
  local commands='run attach top report diff merge convert push open help'
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options=
  COMPREPLY=()
  # "--sort=u" is three words.
  if [ "$cur" = = ]; then
    cur=
  elif [ "$prev" = = ]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    [[ $cur != -* ]] || commands='-h --help -V --version'
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
    return
  fi
  case $prev in
    -O|--options) _luajit_mp_letters "$1" run -O H; return ;;
    --threshold|-t|--time|--state) return ;;
    --sort)
      case ${COMP_WORDS[1]} in
        diff) options='change before after name' ;;
        *) options='c h u x Y U name' ;;
      esac
      COMPREPLY=($(compgen -W "$options" -- "$cur"))
      return ;;
    --source-root) COMPREPLY=($(compgen -d -- "$cur")); return ;;
  esac
  case ${COMP_WORDS[1]} in
    run) options='-o --output -O --options --sort --native --no-source' ;;
    attach) options='-t --time -o --output -O --options --no-source
      --source-root --state --outside' ;;
    top) options='-t --time -O --options --state' ;;
    report) options='-o --output -O --options --sort --no-source --source-root
      --leak-only' ;;
    diff) options='-o --output -O --options --sort --no-source --source-root
      --share --threshold' ;;
    merge) options='-o --output' ;;
    convert) options='-O --options --no-source --source-root' ;;
    push) options='-O --options' ;;
    open) options='-O --options --no-source --source-root' ;;
    help) COMPREPLY=($(compgen -W "$commands" -- "$cur")); return ;;
  esac
  case ${COMP_WORDS[1]}:$prev:$cur in
    *:*:-*) COMPREPLY=($(compgen -W "$options -h --help" -- "$cur")) ;;
    *:-o:*|*:--output:*|convert:*.mp:*) COMPREPLY=($(compgen -f -- "$cur")) ;;
    attach:*|top:*) _luajit_mp_processes ;;
    run:--:*) COMPREPLY=($(compgen -c -- "$cur")) ;;
    report:*|diff:*|merge:*|convert:*|push:*|open:*) _luajit_mp_files .mp ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}

# Of luajit what follows -jm=, a word of its own: letters, then outputs.
_luajit_mp_jm() {
  local cur=${COMP_WORDS[COMP_CWORD]} before
  COMPREPLY=()
  if [ "$cur" = = ]; then
    cur= before=${COMP_WORDS[COMP_CWORD-1]}
  elif [ "${COMP_WORDS[COMP_CWORD-1]}" = = ]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  case $before:$cur in
    -jm:*,*) compopt -o nospace 2>/dev/null
      COMPREPLY=($(compgen -P "${cur%,*}," -f -- "${cur##*,}")) ;;
    -jm:*) _luajit_mp_letters "$1" -jm=H ;;
  esac
}

complete -o filenames -F _luajit_mp luajit-mp
complete -o default -F _luajit_mp_jm luajit
