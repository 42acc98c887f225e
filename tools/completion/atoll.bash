# Completion of atoll, upcxx-run, upcxx and upcxx-meta for bash. Options come from each program's own help, so that new ones are
# completed from their first day.

# Words of a help text that begin with a dash.
_atoll_options() {
  "$@" --help 2> /dev/null | sed -n '/^Usage: c++\|^Usage: g++/q; s/^  *\(-.*\)/\1/p' | grep -oE '(^|[ ,])--?[A-Za-z][A-Za-z-]*=?' |
    tr -d ' ,' | sort -u
}

_atoll_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }

_atoll_files() {
  compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

# The place of the program in the words of a start, or nothing while it is not there yet. Argument: where its options begin.
_atoll_program_at() {
  local i
  for ((i = $1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      = | *=*) ;;
      -n | -np | --ranks | -ranks | -N | --nodes | -nodes | --timeout | -timeout | -E | --env | -env | --shared-heap | -shared-heap | \
        --bind | -bind | --stdin | -stdin | --hosts | -hosts | --hostfile | -hostfile | --launcher | -launcher | --ssh-servers | \
        -ssh-servers)
        [ "${COMP_WORDS[i + 1]}" = = ] && ((i++))
        ((i++))
        ;;
      -*) ;;
      *) echo "$i"; return ;;
    esac
  done
}

_atoll_run() {  # where options begin, the words of the command
  local begin=$1 program
  shift
  program=$(_atoll_program_at "$begin")
  if [ -n "$program" ]; then  # the program's own arguments
    _atoll_files
    return
  fi
  case $previous in
    -n | -np | --ranks | -ranks) _atoll_words "1 2 4 8 $(nproc 2> /dev/null)" ;;
    -N | --nodes | -nodes) _atoll_words "1 2 4" ;;
    --launcher | -launcher) _atoll_words "srun prterun mpirun hydra" ;;
    --hosts | -hosts) mapfile -t COMPREPLY < <(compgen -A hostname -- "$word") ;;
    --hostfile | -hostfile) _atoll_files ;;
    --bind | -bind) _atoll_words "auto core numa none socket" ;;
    --stdin | -stdin) _atoll_words "0 all none" ;;
    -E | --env | -env) mapfile -t COMPREPLY < <(compgen -v -- "$word") ;;
    --timeout | -timeout) _atoll_words "10 60 5m 1h" ;;
    --shared-heap | -shared-heap) _atoll_words "64M 256M 1G 10%" ;;
    *)
      if [[ $word == -* ]]; then
        _atoll_words "$(_atoll_options "$@")"
      else
        _atoll_files
        [[ $word == */* ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$word")
      fi
      ;;
  esac
}

_atoll() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _atoll_words "$("$1" --help 2> /dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p') --help --version"
  elif [ "${COMP_WORDS[1]}" = run ]; then
    _atoll_run 2 "$1" run
  elif [[ $word == -* ]]; then
    _atoll_words "$(_atoll_options "$1" "${COMP_WORDS[1]}")"
  else
    _atoll_files
  fi
}

_upcxx_run() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  _atoll_run 1 "$1"
}

_upcxx() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  [ "$word" = = ] && word=
  [ "$previous" = = ] && previous=${COMP_WORDS[COMP_CWORD - 2]}
  case $previous in
    -codemode) _atoll_words "opt debug" ;;
    -threadmode) _atoll_words "seq par" ;;
    -network) _atoll_words "smp udp ibv aries mpi ofi ucx" ;;
    *)
      if [[ $word == -* ]]; then
        compopt -o nospace 2> /dev/null
        _atoll_words "-codemode= -threadmode= -network= -with-cuda -info -help -O -g -c -o -std= -Wc,"
      elif [[ $1 == *upcxx-meta ]]; then
        _atoll_words "$("$1" ALL 2> /dev/null | sed -n 's/^\([A-Z_]*\)=.*/\1/p') ALL"
      else
        _atoll_files
      fi
      ;;
  esac
}

complete -F _atoll atoll
complete -F _upcxx_run upcxx-run
complete -F _upcxx upcxx upcxx-meta
