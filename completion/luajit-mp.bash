# SPDX-License-Identifier: MIT
# Completion of luajit-mp for bash.

_luajit_mp() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options=
  COMPREPLY=()
  # "--sort=u" is three words.
  if [ "$cur" = = ]; then
    cur=
  elif [ "$prev" = = ]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    options='run attach top report diff merge convert push open
      -h --help -V --version'
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
    return
  fi
  case $prev in
    -O|--options|--threshold|-t|--time|--state) return ;;
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
      --source-root --state' ;;
    top) options='-t --time -O --options --state' ;;
    report) options='-o --output -O --options --sort --no-source --source-root
      --leak-only' ;;
    diff) options='-o --output -O --options --sort --no-source --source-root
      --share --threshold' ;;
    merge) options='-o --output' ;;
    convert) options='-O --options --no-source --source-root' ;;
    push) options='-O --options' ;;
    open) options='-O --options --no-source --source-root' ;;
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$options -h --help" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}

complete -o filenames -F _luajit_mp luajit-mp
