import contextlib
import io
import os
import tempfile
import unittest

import check

SOURCE = """// A program.
int zero() {
  // [begin body]
  int value = 0;
  // [begin inner]
  return value;
  // [end inner]
  // [end body]
}
// [begin open]
"""

BODY = """  int value = 0;
  return value;"""

WHOLE = """// A program.
int zero() {
%s
}""" % BODY

PAGE = """# Guide

See [the file](../code/a.cc), [the change](../CHANGELOG.md#100-first), [below](#two-words) and
[a link
over two lines](../README.md).

## Two words

<!-- listing: code/a.cc body -->
```cpp
%s
```

<!-- listing: code/a.cc -->
```cpp
%s
```

<!-- fragment -->
```cpp
status = lci::cq_pop(queue);
```

```
text without a comment
```
""" % (BODY, WHOLE)


class CheckTest(unittest.TestCase):
    """In a repository in which everything is correct, before the test changes it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.write("README.md", "# Title\n\n[guide](docs/guide.md#two-words)\n")
        self.write("CHANGELOG.md", "# Changes\n\n## 1.0.0 (first)\n")
        self.write("code/a.cc", SOURCE)
        self.write("docs/guide.md", PAGE)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def append(self, path, text):
        self.write(path, self.read(path) + text)

    def replace(self, path, old, new):
        text = self.read(path)
        self.assertIn(old, text)
        self.write(path, text.replace(old, new))

    def problems(self):
        return [str(problem) for problem in check.check(self.root)[0]]

    def main(self, *words):
        """(exit code, standard output)"""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = check.main(["--root", self.root] + list(words))
        return code, output.getvalue()

    # Links.

    def test_a_correct_repository_has_no_problems(self):
        self.assertEqual(self.main(), (0, "docs/check.py: 3 pages, 2 listings, 5 links: correct\n"))

    def test_names_the_line_of_a_link_to_a_missing_file(self):
        self.append("docs/guide.md", "\n[x](nowhere.md)\n")
        line = self.read("docs/guide.md").count("\n")
        self.assertEqual(self.main(), (1, "docs/guide.md:%d: the link nowhere.md leads to docs/nowhere.md, which does "
                                          "not exist\n" % line))

    def test_finds_missing_files_of_images_references_and_html(self):
        self.append("README.md", "\n![x](a.svg \"title\")\n[label]: <docs/b.md>\n<img src='c.png'> <a href=\"d\">\n")
        self.assertEqual([problem.split(" leads")[0] for problem in self.problems()],
                         ["README.md:5: the link a.svg", "README.md:6: the link docs/b.md",
                          "README.md:7: the link c.png", "README.md:7: the link d"])

    def test_finds_a_wrong_anchor_of_another_page(self):
        self.replace("README.md", "#two-words", "#three-words")
        self.assertEqual(self.problems(), ["README.md:3: docs/guide.md has no heading #three-words"])

    def test_finds_a_wrong_anchor_of_the_same_page(self):
        self.replace("docs/guide.md", "(#two-words)", "(#two)")
        self.assertEqual(self.problems(), ["docs/guide.md:3: docs/guide.md has no heading #two"])

    def test_finds_a_link_over_two_lines(self):
        self.replace("docs/guide.md", "(../README.md)", "(../README)")
        self.assertEqual(self.problems(), ["docs/guide.md:5: the link ../README leads to README, which does not exist"])

    def test_refuses_links_that_are_absolute_or_lead_out_of_the_repository(self):
        self.append("README.md", "\n[x](/docs/guide.md) [y](../other/README.md) [z]()\n")
        self.assertEqual(self.problems(),
                         ["README.md:5: the link /docs/guide.md is absolute; write it relative to the page",
                          "README.md:5: the link ../other/README.md leads out of the repository",
                          "README.md:5: a link without a target"])

    def test_links_to_other_sites_are_not_looked_at(self):
        self.append("README.md", "\n[x](https://example.org/a#b) <https://example.org> [m](mailto:a@example.org)\n")
        self.assertEqual(self.problems(), [])

    def test_links_in_code_and_comments_are_none(self):
        self.append("README.md", "\n`[x](a)` and ``[y](b)``\n\n    [z](c)\n\n```\n[v](d)\n```\n\n<!-- [w](e) -->\n")
        self.assertEqual(self.problems(), [])

    def test_links_in_lists_are_links(self):
        self.append("README.md", "\n- one\n\n  - two\n\n    [x](a.md)\n")
        self.assertEqual(self.problems(), ["README.md:9: the link a.md leads to a.md, which does not exist"])

    def test_links_to_lines_of_a_source(self):
        self.append("README.md", "\n[x](code/a.cc#L3) [y](code/a.cc#L2-L99) [z](code/a.cc#zero) [f](docs#x)\n")
        self.assertEqual(self.problems(), ["README.md:5: code/a.cc has 10 lines, and the link has #L2-L99",
                                           "README.md:5: code/a.cc has no anchors, and the link has #zero",
                                           "README.md:5: docs has no anchors, and the link has #x"])

    def test_a_page_of_the_list_must_exist(self):
        os.remove(os.path.join(self.root, "CHANGELOG.md"))
        self.assertIn("CHANGELOG.md:1: can't read the page: No such file or directory", self.problems())

    def test_pages_in_folders_below_docs_are_checked(self):
        self.write("docs/more/deep.md", "[up](../guide.md) [x](guide.md)\n")
        self.assertEqual(self.problems(),
                         ["docs/more/deep.md:1: the link guide.md leads to docs/more/guide.md, which does not exist"])

    # Listings.

    def test_finds_a_changed_listing(self):
        self.replace("docs/guide.md", "  return value;", "  return  value;")
        self.assertEqual(self.problems(),
                         ["docs/guide.md:12: the listing differs from code/a.cc, body here; docs/check.py --fix corrects it",
                          "docs/guide.md:20: the listing differs from code/a.cc here; docs/check.py --fix corrects it"])

    def test_finds_a_listing_whose_file_has_grown(self):
        self.replace("code/a.cc", "  // [end body]", "  // more\n  // [end body]")
        self.assertEqual([problem.split(": ")[0] for problem in self.problems()],
                         ["docs/guide.md:13", "docs/guide.md:21"])

    def test_fix_rewrites_changed_listings_and_nothing_else(self):
        before = self.read("docs/guide.md")
        self.replace("docs/guide.md", "  return value;", "  return  value;\n  more();")
        self.assertEqual(self.main("--fix"), (0, "docs/guide.md: rewrote 2 of 2 listings\n"
                                                 "docs/check.py: 3 pages, 2 listings, 5 links: correct\n"))
        self.assertEqual(self.read("docs/guide.md"), before)

    def test_fix_leaves_other_problems(self):
        self.replace("docs/guide.md", "  return value;", "  return  value;")
        self.append("docs/guide.md", "\n[x](nowhere.md)\n")
        code, output = self.main("--fix")
        self.assertEqual(code, 1)
        self.assertIn("rewrote 2 of 2 listings", output)
        self.assertIn("nowhere.md", output)
        self.assertNotIn("differs", output)

    def test_a_listing_in_a_list_is_compared_without_its_indentation(self):
        text = "\n- item\n\n  <!-- listing: code/a.cc inner -->\n  ```cpp\n    return value;\n  ```\n"
        self.append("docs/guide.md", text)
        self.assertEqual(self.problems(), [])
        self.replace("docs/guide.md", "    return value;\n  ```", "    return 1;\n  ```")
        self.assertEqual(self.main("--fix")[0], 0)
        self.assertTrue(self.read("docs/guide.md").endswith(text))

    def test_finds_a_listing_of_a_missing_file(self):
        self.replace("docs/guide.md", "code/a.cc body", "code/b.cc body")
        self.assertEqual(self.problems(),
                         ["docs/guide.md:9: listing: can't read code/b.cc: No such file or directory"])

    def test_finds_excerpts_that_are_not_there(self):
        for name, what in (("none", "has no [begin none]"), ("open", "has no [end open]")):
            with self.subTest(name):
                self.write("docs/guide.md", PAGE.replace("a.cc body", "a.cc " + name))
                self.assertEqual(self.problems()[0], "docs/guide.md:9: listing: code/a.cc " + what)

    def test_finds_wrong_markers(self):
        for lines, what in (
                (["// [begin a]", "x", "// [begin a]"], "has [begin a] twice"),
                (["// [end a]", "// [begin a]"], "has [end a] without a [begin a] before it"),
                (["// [begin a]", "x", "// [end a]", "// [end a]"], "has [end a] without a [begin a] before it"),
                (["// [begin a]", "// [end a]"], "has no lines in a"),
        ):
            with self.subTest(what):
                with self.assertRaises(check.ListingError) as caught:
                    check.excerpt(lines, "a")
                self.assertEqual(str(caught.exception), what)

    def test_markers_of_other_languages(self):
        self.assertEqual(check.excerpt(["a", "# [begin x]", "b", "  # [end x]"], "x"), ["b"])

    def test_finds_a_comment_with_too_few_or_too_many_words(self):
        for words in ("", "a b c"):
            with self.subTest(words):
                self.write("docs/guide.md", PAGE.replace("listing: code/a.cc body", "listing: " + words))
                self.assertEqual(self.problems()[0][:34], 'docs/guide.md:9: listing: write "<')

    def test_finds_cpp_without_a_comment(self):
        end = PAGE.count("\n")
        self.append("docs/guide.md", "\n```cpp\nint i;\n```\n\n<!-- fragment -->\n\n~~~c++\nint i;\n~~~\n")
        self.assertEqual([problem.split(";")[0].split(": <")[0] for problem in self.problems()],
                         ["docs/guide.md:%d: a block of C++ needs a comment directly above it" % (end + 2),
                          "docs/guide.md:%d: there is no code block directly below this comment" % (end + 6),
                          "docs/guide.md:%d: a block of C++ needs a comment directly above it" % (end + 8)])

    def test_comments_within_code_are_code(self):
        self.append("docs/guide.md", "\n```markdown\n<!-- listing: a.cc -->\n```\n\n````\n```cpp\n````\n")
        self.assertEqual(self.problems(), [])

    # Anchors.

    def test_anchors_are_those_of_a_forge(self):
        lines = ["# How *it* works: `am_poll_mask`, (1)", "## Same", "## Same", "Under", "-----", "## A - b ##",
                 "## [link](x.md) text", "```", "# no", "```", "", '<a id="own"></a>']
        self.assertEqual(check.find_anchors(lines), {
            "how-it-works-am_poll_mask-1", "same", "same-1", "under", "a---b", "link-text", "own"})


if __name__ == "__main__":
    unittest.main()
