#!/usr/bin/env bash
# Reads the symbol tables of the package: the shared libraries show the public names and nothing else.
. tests/dist/package.sh

lib=$prefix/lib

# Every word of the public headers, without comments, and with what macros make of them.
g++ -std=c++17 -E -I "$prefix/include" "$prefix/include/lci.hpp" |
  awk -v include="$prefix/include/" '/^# [0-9]+ "/ { ours = index($0, include) > 0; next } ours' |
  grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u > "$work/words"

# names_of: reads symbols as nm -C prints them; prints each with its name as a path of words:
# "lci::post_am_x::operator()() const" as "post_am_x operator". A word that is no name of C++ is
# left as it is, so that it is found nowhere.
names_of() {
  awk '{
    path = $0
    sub(/^(guard variable|non-virtual thunk|typeinfo name|typeinfo|virtual thunk|vtable|VTT) (for|to) /, "", path)
    while (sub(/<[^<>]*>/, "", path)) continue
    sub(/\(.*/, "", path)
    sub(/\[abi:[a-z0-9]*\]/, "", path)
    sub(/^.* lci::/, "lci::", path)  # the result type of a template
    sub(/operator[^a-z_].*$/, "operator", path)
    sub(/^lci::/, "", path)
    gsub(/::~?/, " ", path)
    print $0 "\t" path
  }'
}

# Prints the symbols that have only words of the public headers, or (-v) the others.
public() {
  awk -F '\t' -v words="$work/words" -v inverted="${1:-}" '
    BEGIN { while ((getline word < words) > 0) known[word] = 1; known["operator"] = 1 }
    {
      is_public = $1 ~ /lci::/
      count = split($2, parts, " ")
      for (i = 1; i <= count; ++i) if (!(parts[i] in known)) is_public = 0
      if (is_public != (inverted == "-v")) print $1
    }'
}

for name in lci lct; do
  shared=$lib/lib$name.so
  [[ $(readlink "$shared") == "lib$name.so.2" && $(readlink "$shared.2") == "lib$name.so.2.0.0" ]] ||
    fail "lib$name.so and lib$name.so.2 do not lead to lib$name.so.2.0.0"
  dynamic=$(readelf -d "$shared")
  grep -qF "Library soname: [lib$name.so.2]" <<< "$dynamic" || fail "lib$name.so has another soname: $dynamic"
  ! grep -q TEXTREL <<< "$dynamic" || fail "lib$name.so has to be changed when it is loaded"
  nm -D --extern-only --defined-only "$shared" | awk '{ print $NF }' | sed 's/@.*//' | c++filt | sort -u |
    grep -vE '^LC[IT]_2$' > "$work/$name.shown"
  for file in "$shared" "$lib/lib$name.a"; do
    ! nm -C "$file" 2> "$work/errors" | grep -m 3 'absl::' || fail "$file has symbols of Abseil"
  done
done

[[ -s $work/lci.shown && -s $work/lct.shown ]] || fail "a library shows nothing"
if grep -v '^LCT_' "$work/lct.shown"; then fail "liblct.so shows the names above"; fi
names_of < "$work/lci.shown" | public -v > "$work/internal"
[[ ! -s $work/internal ]] || fail "liblci.so shows internal names: $(head -20 "$work/internal")"

# Functions that are declared in the public headers and compiled into the archive are also in the shared library. (Of
# the objects behind the handles only the completion object is public.)
nm -C --defined-only "$lib/liblci.a" | sed -nE 's/^[0-9a-f]+ [TDBR] //p' | sort -u |
  grep -E '^lci::' | grep -vE '^lci::((rt|base|boot|ds|net)|[a-z_]*_impl_t)::' | names_of | public > "$work/public"
comm -23 "$work/public" "$work/lci.shown" > "$work/missing"
[[ ! -s $work/missing ]] || fail "liblci.so lacks public names: $(head -20 "$work/missing")"
echo "passed: $(wc -l < "$work/lci.shown") names of LCI, $(wc -l < "$work/lct.shown") of LCT"
