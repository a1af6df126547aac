#!/usr/bin/env python3
"""Writes the completion of lcrun for a shell, from the text of its --help.

usage: generate.py LCRUN bash|zsh      (the program; the shell; the result goes to standard output)
       generate.py LCRUN --update DIR  (writes DIR/lcrun.bash and DIR/_lcrun)
"""
import dataclasses
import pathlib
import re
import subprocess
import sys


@dataclasses.dataclass
class Option:
    names: list  # "-n", "--np"
    value: str  # "" for a switch
    help: str
    words: list  # the words that the value may be; empty: any text

    def kind(self):
        """The completion of the value: "" (nothing), files, directories, or words."""
        if self.words:
            return "words"
        if self.value == "DIR":
            return "directories"
        if self.value in ("PATH", "FILE", "FILE|-", "HOST:PORT|FILE"):
            return "files"
        return ""


def read_options(help_text):
    """Reads the lines "  -n, --np N  text", with more text in the same column on the next lines,
    and "word  text" two columns further right."""
    options = []
    lines = help_text.splitlines()
    # The column is where the text begins in a line that is a text only.
    column = min(len(line) - len(line.lstrip()) for line in lines if line.startswith(" " * 7))
    for line in lines:
        start = re.match(r"  (?:    )?(-[^ ,]+)(?:, (--[^ ]+))?(?: (\S+))?(?:\s+(\S.*))?$", line)
        word = re.match(" {%d}([a-z]+)  " % (column + 2), line)
        if start:
            names = [name for name in start.group(1, 2) if name]
            options.append(Option(names, start.group(3) or "", start.group(4) or "", []))
        elif word:
            options[-1].words.append(word.group(1))
        elif re.match(r" {%d}\S" % column, line):
            options[-1].help += " " + line.strip()
    return options


BASH = r"""# Completion of lcrun for bash. Made by tools/launcher/completion/generate.py.

# Completes the value $2 of the option $1. Fails if the option has no value.
_lcrun_value() {
  case $1 in
@CASES@
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
    COMPREPLY=($(compgen -W $'@NAMES@' -- "$current"))
  else
    COMPREPLY=($(_lcrun_program "$current"))
    compopt -o filenames 2> /dev/null
  fi
}

complete -F _lcrun lcrun
"""

ZSH = r"""#compdef lcrun
# Completion of lcrun for zsh. Made by tools/launcher/completion/generate.py.

_arguments -s -S \
@SPECS@
  '(-)1:program:_command_names -e' \
  '*::arguments:_normal'
"""


def bash(options):
    cases = []
    for option in options:
        if not option.value:
            continue
        action = {
            "words": "compgen -W $'%s' -- \"$2\"" % r"\n".join(option.words),
            "directories": 'compgen -d -- "$2"',
            "files": 'compgen -f -- "$2"',
            "": ":",
        }[option.kind()]
        cases.append("    %s) %s ;;" % (" | ".join(option.names), action))
    names = r"\n".join(name for option in options for name in option.names)
    return BASH.replace("@CASES@", "\n".join(cases)).replace("@NAMES@", names)


def zsh(options):
    specs = []
    for option in options:
        # The first clause, without what would end a spec or its parts.
        text = re.split(r"[;:(]", option.help)[0].strip() or option.names[-1].lstrip("-")
        text = text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]")
        value = ""
        if option.value:
            action = {
                "words": "(%s)" % " ".join(option.words),
                "directories": "_directories",
                "files": "_files",
                "": "",
            }[option.kind()]
            label = re.sub(r"[^A-Za-z|]+", " ", option.value).strip()
            value = ":%s:%s" % (label, action)
        names = [name + ("=" if option.value and name.startswith("--") else "")
                 for name in option.names]
        if option.names == ["-x"]:
            specs.append("  '*-x[%s]%s' \\" % (text, value))
        elif len(names) == 1:
            specs.append("  '%s[%s]%s' \\" % (names[0], text, value))
        else:
            specs.append("  '(%s)'{%s}'[%s]%s' \\"
                         % (" ".join(option.names), ",".join(names), text, value))
    return ZSH.replace("@SPECS@", "\n".join(specs))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    text = subprocess.run([sys.argv[1], "--help"], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout
    options = read_options(text)
    if sys.argv[2] == "--update" and len(sys.argv) == 4:
        folder = pathlib.Path(sys.argv[3])
        (folder / "lcrun.bash").write_text(bash(options))
        (folder / "_lcrun").write_text(zsh(options))
    elif sys.argv[2] in ("bash", "zsh") and len(sys.argv) == 3:
        sys.stdout.write(bash(options) if sys.argv[2] == "bash" else zsh(options))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
