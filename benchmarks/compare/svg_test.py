import unittest
import xml.etree.ElementTree as ElementTree

import charts
import svg
from results import Table
from testing import latency_result, launch

NAMESPACE = "{http://www.w3.org/2000/svg}"


def chart(*series, title="Title"):
    return svg.Chart(title, "across", "up", list(series), {1: "one", 10: "ten", 100: "hundred"})


def parse(contents):
    root = ElementTree.fromstring(contents)
    assert root.tag == NAMESPACE + "svg"
    return root


def words(root):
    return [element.text for element in root.iter(NAMESPACE + "text")]


class TicksTest(unittest.TestCase):
    def test_cover_the_values(self):
        self.assertEqual([svg.number(tick) for tick in svg.log_ticks(0.09, 0.6)], ["0.05", "0.1", "0.2", "0.5", "1"])
        self.assertEqual([svg.number(tick) for tick in svg.log_ticks(0.02, 300)],
                         ["0.01", "0.1", "1", "10", "100", "1000"])
        self.assertEqual([svg.number(tick) for tick in svg.log_ticks(10, 10)], ["10"])
        self.assertEqual([svg.number(tick) for tick in svg.log_ticks(10, 100)], ["10", "20", "50", "100"])


class ScaleTest(unittest.TestCase):
    def test_is_logarithmic(self):
        scale = svg.Scale(1, 100, 0, 200)
        for value, pixel in ((1, 0), (10, 100), (100, 200)):
            self.assertAlmostEqual(scale(value), pixel)

    def test_a_single_value_stands_in_the_middle(self):
        self.assertAlmostEqual(svg.Scale(8, 8, 0, 200)(8), 100)


class DrawTest(unittest.TestCase):
    def test_has_labels_legend_and_a_line_a_series(self):
        first = svg.Series("first", [(1, 5, 4, 6), (10, 50, 40, 60)], "#111111", marker="square")
        second = svg.Series("second", [(1, 7, 7, 7), (100, 70, 60, 80)], "#222222", "2,2", marker="triangle")
        root = parse(svg.draw(chart(first, second)))
        for label in ("Title", "across", "up", "one", "ten", "hundred", "first", "second"):
            self.assertIn(label, words(root))
        lines = {line.get("stroke"): line for line in root.iter(NAMESPACE + "polyline")}
        self.assertEqual(set(lines), {"#111111", "#222222"})
        self.assertEqual(lines["#222222"].get("stroke-dasharray"), "2,2")

    def test_larger_is_higher_and_further_right(self):
        root = parse(svg.draw(chart(svg.Series("one", [(10, 50, 50, 50), (1, 5, 5, 5), (100, 20, 20, 20)], "#111111"))))
        path = next(root.iter(NAMESPACE + "polyline")).get("points")
        (x1, y1), (x2, y2), (x3, y3) = [tuple(map(float, pair.split(","))) for pair in path.split()]
        self.assertLess(x1, x2)
        self.assertLess(x2, x3)
        self.assertGreater(y1, y3)
        self.assertGreater(y3, y2)
        for x, y in ((x1, y1), (x2, y2), (x3, y3)):
            self.assertTrue(svg.LEFT <= x <= svg.WIDTH - svg.RIGHT and svg.TOP <= y <= svg.HEIGHT - svg.BOTTOM)

    def test_legend_has_the_highest_end_first(self):
        low = svg.Series("low", [(1, 9, 9, 9), (100, 1, 1, 1)], "#111111")
        high = svg.Series("high", [(1, 2, 2, 2), (100, 3, 3, 3)], "#222222")
        found = words(parse(svg.draw(chart(low, high))))
        self.assertLess(found.index("high"), found.index("low"))

    def test_names_are_escaped(self):
        root = parse(svg.draw(chart(svg.Series("a < b & c", [(1, 1, 1, 1)], "#111111"), title="<b>")))
        self.assertIn("a < b & c", words(root))
        self.assertIn("<b>", words(root))

    def test_nothing_is_no_chart(self):
        with self.assertRaisesRegex(ValueError, "nothing to draw"):
            svg.draw(chart(svg.Series("empty", [], "#111111")))


class ChartsTest(unittest.TestCase):
    def test_only_of_what_was_measured(self):
        launches = [launch("lci_am", size=size, result=latency_result(0.1 * size)) for size in (8, 64)]
        launches += [launch("ucx_tag", size=8, result=latency_result(0.2))]
        wanted = [one.point for one in launches]
        drawn = charts.draw_all(Table(launches, "near"), wanted)
        self.assertEqual(list(drawn), ["latency.svg"])
        found = words(parse(drawn["latency.svg"]))
        self.assertIn("LCI active message", found)
        self.assertIn("UCX tag", found)
        self.assertNotIn("MPICH", found)
        self.assertIn("64 KiB", found)
        self.assertEqual(charts.draw_all(Table(launches, "far"), wanted), {})


if __name__ == "__main__":
    unittest.main()
