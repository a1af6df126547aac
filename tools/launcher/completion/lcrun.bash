# Completion of lcrun for bash. Made by tools/launcher/completion/generate.py.

# Completes the value $2 of the option $1. Fails if the option has no value.
_lcrun_value() {
  case $1 in
    -n | --np) : ;;
    -x) : ;;
    --wdir) compgen -d -- "$2" ;;
    --bind-to) compgen -W $'none\ncore\nnuma\nsocket' -- "$2" ;;
    --map-by) compgen -W $'slot\ncore\nnuma\nsocket\nnode' -- "$2" ;;
    --output-dir) compgen -d -- "$2" ;;
    --stdin) : ;;
    --timeout) : ;;
    --grace) : ;;
    -f | --hostfile) compgen -f -- "$2" ;;
    --machinefile) compgen -f -- "$2" ;;
    -H | --host) : ;;
    --ppn) : ;;
    --nnodes) : ;;
    --launch-agent) : ;;
    --remote-lcrun) compgen -f -- "$2" ;;
    --iface) : ;;
    --fan-out) : ;;
    --start-timeout) : ;;
    --host-timeout) : ;;
    --boot) compgen -W $'tcp\nfile' -- "$2" ;;
    --report-format) compgen -W $'text\njson' -- "$2" ;;
    --report-dir) compgen -d -- "$2" ;;
    --node-rank) : ;;
    --rdzv-endpoint) compgen -f -- "$2" ;;
    --report-uri) compgen -f -- "$2" ;;
    *) return 1 ;;
  esac
}

# Completes the name of a program: from PATH, or a file.
_lcrun_program() {
  if [[ $1 == */* ]]; then
    compgen -f -- "$1"
  else
    compgen -c -- "$1"
  fi
}

_lcrun() {
  local line=${COMP_LINE:0:COMP_POINT} words word current option='' state=options i
  # bash divides words at ':' and '=', too, which lcrun does not.
  read -ra words <<< "$line"
  current=''
  if [[ $line != *[[:space:]] ]]; then
    current=${words[-1]}
    unset 'words[-1]'
  fi
  for ((i = 1; i < ${#words[@]}; ++i)); do
    word=${words[i]}
    if [[ $state == program ]]; then
      if [[ $word == : ]]; then state=options; fi
    elif [[ $state == last_program ]]; then
      :
    elif [[ -n $option ]]; then
      option=''
    elif [[ $word == -- ]]; then
      state=last_program
    elif [[ $word == -* ]]; then
      # Options may have one dash.
      if [[ $word != *=* ]]; then
        if _lcrun_value "$word" '' > /dev/null; then
          option=$word
        elif [[ $word != --* ]] && _lcrun_value "-$word" '' > /dev/null; then
          option=-$word
        fi
      fi
    else
      state=program
    fi
  done
  local IFS=$'\n'
  COMPREPLY=()
  if [[ $state == last_program && ${words[-1]} == -- ]]; then
    COMPREPLY=($(_lcrun_program "$current"))
    compopt -o filenames 2> /dev/null
  elif [[ $state != options ]]; then
    compopt -o default 2> /dev/null
  elif [[ -n $option ]]; then
    COMPREPLY=($(_lcrun_value "$option" "$current"))
  elif [[ $current == --*=* ]]; then
    COMPREPLY=($(_lcrun_value "${current%%=*}" "${current#*=}"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W $'-n\n--np\n-x\n--wdir\n--bind-to\n--map-by\n--report-bindings\n--oversubscribe\n-l\n--label\n--timestamp\n--output-dir\n--stdin\n-v\n--verbose\n--stats\n--dry-run\n--timeout\n--grace\n-f\n--hostfile\n--machinefile\n-H\n--host\n--ppn\n--nnodes\n--launch-agent\n--remote-lcrun\n--iface\n--fan-out\n--start-timeout\n--host-timeout\n--boot\n--report\n--report-format\n--report-dir\n--node-rank\n--rdzv-endpoint\n--report-uri\n-V\n--version\n-h\n--help' -- "$current"))
  else
    COMPREPLY=($(_lcrun_program "$current"))
    compopt -o filenames 2> /dev/null
  fi
}

complete -F _lcrun lcrun
