# Prepares a public header for Doxygen. The number of lines stays, so that warnings name the right one.
# - Attributes (attr.hpp): the descriptions lose their quotes, since the macros put them into comments. What would end
#   the argument of a macro becomes a private character, U+E000 to U+E003, which docs/reference/build turns back.
# - Parameters (argument.hpp, option.hpp): LCI_DEFINE_ARGUMENT, _OPTION and _OVERRIDE become classes whose setter has
#   the comment, too.

# Arguments of the macro call in this line.
function parse_call(    text) {
  text = $0
  sub(/^[A-Z_]*\(/, "", text)
  sub(/\);$/, "", text)
  count = split(text, argument, ", ")
}

function setter(heading, class, type, name, more) {
  printf "%s class %s_%s { public: /** %s%s */ Op& %s(%s value); };\n", heading, name, class, comment, more, name, type
  comment = ""
}

/^LCI_DEFINE_ARGUMENT\(/ {
  parse_call()
  setter("template <class Op, class T>", "argument", "T", argument[1], "")
  next
}
/^LCI_DEFINE_OPTION\(/ {
  parse_call()
  setter("template <class Op>", "option", argument[1], argument[2],
         comment ~ /Default: / ? "" : " Default: `" argument[3] "`.")
  next
}
/^LCI_DEFINE_OVERRIDE\(/ {
  parse_call()
  setter("template <class Op>", "override", argument[1], argument[2], "")
  next
}

# The comment before a call, without a line break.
/^\/\/\/ / { comment = (comment == "" ? "" : comment " ") substr($0, 5) }
!/^\/\/\// { comment = "" }

# Strings of the lists of attributes; "" is a default, and stays.
/^  X\(/ || /^    "/ {
  n = split($0, part, "\"")
  line = part[1]
  for (i = 2; i <= n; ++i) {
    if (i % 2 == 0 && part[i] == "") {
      line = line "\"\""
    } else {
      if (i % 2 == 0) {
        gsub(/,/, "\356\200\200", part[i])
        gsub(/\(/, "\356\200\201", part[i])
        gsub(/\)/, "\356\200\202", part[i])
        gsub(/'/, "\356\200\203", part[i])
        if (i == n - 1 && part[n] ~ /^\)/) part[i] = part[i] "."
      }
      line = line part[i]
    }
  }
  print line
  next
}

{ print }
