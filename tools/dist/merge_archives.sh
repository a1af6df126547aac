#!/usr/bin/env bash
# Makes one static archive of some objects and of those members of other archives that they need.
# usage: merge_archives.sh AR NM LIST OUT
# LIST has a line "object PATH" for each object, then a line "archive PATH" for each archive, in link order.
set -euo pipefail

ar=$1 nm=$2 list=$3 out=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t objects < <(sed -n 's/^object //p' "$list")
mapfile -t archives < <(sed -n 's/^archive //p' "$list")
if ((${#objects[@]} == 0)); then
  echo "merge_archives: no objects to archive" >&2
  exit 1
fi

# Finds the needed members as a linker does, beginning with the undefined symbols of the objects. nm -P prints
# "FILE[MEMBER]: SYMBOL TYPE ...". A weak undefined symbol (w, v) pulls nothing in.
"$nm" -A -P -- "${objects[@]}" "${archives[@]}" 2> >(grep -v 'no symbols$' >&2) |
  awk '
    {
      type = $3
      file = substr($1, 1, length($1) - 1)
      is_member = (file ~ /\]$/)
      if (type == "U") {
        undefined[file, ++undefined_count[file]] = $2
      } else if (is_member && type ~ /^[A-Zu]$/ && !($2 in provider)) {
        provider[$2] = file
      } else if (!is_member && type ~ /^[A-Zu]$/) {
        defined[$2] = 1
      }
      if (!(file in seen)) {
        seen[file] = 1
        order[++files] = file
        if (!is_member) queue[++queued] = file
      }
    }
    END {
      for (next_one = 1; next_one <= queued; ++next_one) {
        file = queue[next_one]
        for (i = 1; i <= undefined_count[file]; ++i) {
          symbol = undefined[file, i]
          if (symbol in defined || !(symbol in provider)) continue
          member = provider[symbol]
          if (!(member in needed)) {
            needed[member] = 1
            queue[++queued] = member
          }
        }
      }
      for (i = 1; i <= files; ++i) if (order[i] in needed) print order[i]
    }' > "$work/needed"

# A member keeps the path it came from in its name: two files of one name must not replace each other.
members=()
mkdir "$work/objects"
for object in "${objects[@]}"; do
  name=${object##*/bin/}
  name=${name//\/_objs\//\/}
  name=${name//\//.}
  cp "$object" "$work/objects/$name"
  members+=("$work/objects/$name")
done
while IFS= read -r entry; do
  archive=${entry%\[*}
  member=${entry##*\[}
  member=${member%\]}
  name=${archive##*/}
  name=${name%.a}.$member
  "$ar" p "$archive" "$member" > "$work/objects/$name"
  members+=("$work/objects/$name")
done < "$work/needed"

rm -f "$out"
"$ar" rcsD "$out" "${members[@]}"
