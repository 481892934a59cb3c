#!/usr/bin/env python3
"""eg.show, eg.plot, eg.heatmap, eg.sound and eg.display: what terminals are told is turned back into pixels.

    show.py EGRET
"""
import os
import pty
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/common"))
from checking import check, finish, has_terminals, skip  # noqa: E402
from pixels import read_blocks, read_kitty, read_png, read_sixel  # noqa: E402

program = sys.argv[1]

IMAGE = """
local function image(channels, height, width, value)
    local t = {}
    for c = 1, channels do
        t[c] = {}
        for y = 1, height do
            t[c][y] = {}
            for x = 1, width do
                t[c][y][x] = value(c - 1, y - 1, x - 1)
            end
        end
    end
    return eg.tensor(t, "u8")
end
local function value(c, y, x) return (c * 80 + y * 30 + x * 7) % 256 end
local a = image(3, 6, 8, value)
"""


def value(c, y, x):
    return (c * 80 + y * 30 + x * 7) % 256


def wanted(height=6, width=8, scale=1):
    return [[tuple(value(c, y // scale, x // scale) for c in range(3)) for x in range(width * scale)]
            for y in range(height * scale)]


def run(code, show, expect=0, **env):
    env = {**{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLORTERM", "TMUX", "COLUMNS")},
           "TERM": "xterm-256color", "EGRET_SHOW": show, **env}
    r = subprocess.run([program, "-e", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=120)
    words = (r.stdout[-300:] + r.stderr).decode(errors="replace")
    check(f"{code.strip().splitlines()[-1]}: status {expect}, was {r.returncode}", r.returncode == expect, words)
    return r.stdout if expect == 0 else r.stderr.decode()


def same(what, got, right, within=0):
    away = [abs(p - q) for a, b in zip(got, right) for u, v in zip(a, b) for p, q in zip(u, v)] \
        if len(got) == len(right) and [len(r) for r in got] == [len(r) for r in right] else [999]
    size = f"{len(got)} rows of {len(got[0]) if got else 0}, not {len(right)} of {len(right[0])}"
    check(f"{what}: the same pixels", max(away) <= within, f"{size}, {max(away)} away")


def blocks():
    full = {"COLORTERM": "truecolor"}
    same("blocks", read_blocks(run(IMAGE + "eg.show(a, {scale = 1})", "blocks", **full).decode()), wanted())
    same("odd rows", read_blocks(run(IMAGE + "eg.show(a[{1}]:reshape{1, 6, 8}[{eg.all, {1, 5}}], {scale = 1})", "blocks",
                                     **full).decode()), [[(p[0],) * 3 for p in row] for row in wanted()][:5])
    same("small ones are enlarged", read_blocks(run(IMAGE + "eg.show(a)", "blocks", **full).decode()), wanted(scale=3))
    coarse = read_blocks(run(IMAGE + "eg.show(a, {scale = 1})", "blocks").decode())
    same("256 colours", coarse, wanted(), within=48)
    plain = run(IMAGE + "eg.show(a, {scale = 1})", "blocks", NO_COLOR="1").decode()
    check("without colours", "\x1b" not in plain and [len(s) for s in plain.splitlines()] == [8] * 3, plain)
    wide = read_blocks(run("eg.show(eg.zeros({40, 400}, 'u8'))", "blocks", **full).decode())
    check("wide ones are made to fit", len(wide) == 8 and len(wide[0]) == 80, f"{len(wide)} {len(wide[0])}")
    words = run(IMAGE + "eg.show(a)", "none").decode()
    check("no pictures", words == "[a picture of 8 x 6 pixels]\n", words)


def kitty():
    out = run(IMAGE + "eg.show(a, {scale = 2})", "kitty")
    pictures, keys = read_kitty(out)
    same("kitty", pictures[0], wanted(scale=2))
    first = keys[0][0]
    check("kitty's keys", (first["a"], first["f"], first["q"], first["m"]) == ("T", "100", "2", "0"), str(keys))
    noise = IMAGE + "eg.show(eg.randint({3, 90, 120}, 0, 256, 'u8'), {scale = 1})"
    pictures, keys = read_kitty(run(noise, "kitty"))
    check("pieces of 4096", len(keys) > 3 and all(n == 4096 for _, n in keys[:-1]) and keys[-1][1] <= 4096
          and [k["m"] for k, _ in keys] == ["1"] * (len(keys) - 1) + ["0"], str(keys[:2]))
    check("and whole", len(pictures) == 1 and len(pictures[0]) == 90 and len(pictures[0][0]) == 120)


def sixel():
    code = IMAGE + "eg.show(a[{1}]:reshape{1, 6, 8}, {scale = 3})"
    r = subprocess.run([program, "-e", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       env={**os.environ, "EGRET_SHOW": "sixel"})
    if b"no libsixel" in r.stderr:
        return skip("this build has no libsixel")
    check("sixel: status 0", r.returncode == 0, r.stderr.decode())
    gray = [[(p[0],) * 3 for p in row] for row in wanted(scale=3)]
    same("sixel", read_sixel(r.stdout), gray, within=8)  # of the palette, five bits a channel


def files(at):
    run(IMAGE + "eg.show(a, {scale = 1}) eg.show(a, {scale = 2})", f"png:{at}/p%d.png")
    for i in (1, 2):
        same(f"file {i}", read_png(open(f"{at}/p{i}.png", "rb").read()), wanted(scale=i))
    run(IMAGE + f"eg.show(a, {{scale = 3, path = '{at}/own.png'}})", "blocks")
    same("a file of one's own", read_png(open(f"{at}/own.png", "rb").read()), wanted(scale=3))
    check("a name that is none", "no option 'scal'" in run(IMAGE + "eg.show(a, {scal = 3})", "none", expect=1))
    check("nor for curves", "no option 'lable'" in run("eg.plot({1, 2}, {lable = 'x'})", "none", expect=1))
    check("no place", "absent" in run(IMAGE + "eg.show(a)", f"png:{at}/absent/a.png", expect=1))
    check("no such way", "EGRET_SHOW" in run(IMAGE + "eg.show(a)", "oil", expect=1))


def on_terminal(code, answer, **env):
    """What a terminal of our own is told, which answers the question for its attributes."""
    pid, tty = pty.fork()
    if pid == 0:
        for name in ("EGRET_SHOW", "TMUX", "KITTY_WINDOW_ID", "TERM_PROGRAM", "NO_COLOR"):
            os.environ.pop(name, None)
        os.environ.update({"TERM": "xterm-256color", **env})
        os.execv(program, [program, "-e", code])
    told = b""
    while True:
        try:
            piece = os.read(tty, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        if b"\x1b[c" in piece and answer:
            os.write(tty, answer)
        told += piece
    os.close(tty)
    check(f"{code.splitlines()[-1]} on a terminal", os.waitpid(pid, 0)[1] == 0, repr(told[-300:]))
    return told


def terminals():
    if not has_terminals():
        return skip("this system has no pseudo-terminals")
    show = IMAGE + "eg.show(a, {scale = 1})"
    has_sixel = subprocess.run([program, "-e", show], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "EGRET_SHOW": "sixel"}).returncode == 0
    for _ in range(8):  # it is not waited for long, and this machine may be slow
        asked = on_terminal(show + show, b"\x1b[?62;4;22c")
        if (b"\x1bP" in asked) == has_sixel:
            break
    check("a terminal that says it has sixels", (b"\x1bP" in asked) == has_sixel, repr(asked[:200]))
    check("and is asked once", asked.count(b"\x1b[c") == has_sixel)
    for answer in (b"\x1b[?62;22;41c", b"", b"4c", b"\x1b[?"):
        told = on_terminal(show, answer)
        check(f"one that says {answer}", "▀".encode() in told and b"\x1bP" not in told, repr(told[:200]))
    told = on_terminal(show, b"", KITTY_WINDOW_ID="1")
    check("kitty", b"\x1b_Ga=T" in told and b"\x1b[c" not in told, repr(told[:200]))
    told = on_terminal(show, b"\x1b[?62;4;22c", KITTY_WINDOW_ID="1", TMUX="x")
    check("both behind tmux", b"\x1b_G" not in told and b"\x1bP" not in told, repr(told[:200]))
    told = on_terminal(show, b"", TERM="dumb")
    check("a dumb one", b"\x1b" not in told, repr(told[:200]))


def picture(at, code):
    run(IMAGE + code, f"png:{at}/one.png")
    return read_png(open(f"{at}/one.png", "rb").read())


def values(at):
    """What counts as black and white."""
    def grays(expression, options=""):
        return [row[0][0] for row in picture(at, f"eg.show({expression}, {{scale = 1{options}}})")]

    def column(*numbers, dtype="f32"):
        return f"eg.tensor({{{', '.join('{' + n + '}' for n in numbers)}}}, '{dtype}')"
    check("0..1", grays(column("0", "0.5", "1")) == [0, 128, 255])
    check("0..1, not all used", grays(column("0.2", "0.4")) == [51, 102])
    check("-1..1", grays(column("-1", "0", "0.5")) == [0, 128, 191])
    check("0..255", grays(column("0", "200", "255")) == [0, 200, 255])
    check("their own", grays(column("-3", "0", "7")) == [0, 76, 255])
    check("range", grays(column("0", "1", "2", "5"), ", range = {1, 3}") == [0, 0, 128, 255])
    check("NaN and infinities", grays(column("0/0", "1/0", "-1/0", "1")) == [0, 255, 0, 255])
    check("which are of no range", grays(column("-7", "0/0", "-3", "1/0")) == [0, 0, 255, 255])
    check("nothing else", grays(column("0/0", "1/0", "-1/0")) == [0, 255, 0])
    check("one large number", grays(column("1e300", "1e300", dtype="f64")) == [0, 0])
    check("both ends", grays(column("-1e308", "0", "1e308", dtype="f64")) == [0, 128, 255])
    check("booleans", grays(column("true", "false", dtype="bool")) == [255, 0])
    check("integers", grays(column("0", "130", dtype="i64")) == [0, 130])
    code = f"eg.show(eg.tensor{{{{{'0, 1, ' * 80}}}}})"
    line = [p[0] for p in read_blocks(run(code, "blocks", COLORTERM="truecolor").decode())[0]]
    check("a line made narrower is a mean of what is there", line == [128] * 80, str(line))
    alpha = picture(at, "eg.show(eg.tensor({{{200}}, {{100}}, {{0}}, {{0}}}, 'u8'), {scale = 1})")
    check("transparent", alpha == [[(60, 64, 72)]], str(alpha))
    opaque = picture(at, "eg.show(eg.tensor({{{200}}, {{100}}, {{0}}, {{255}}}, 'u8'), {scale = 1})")
    check("opaque", opaque == [[(200, 100, 0)]], str(opaque))


def grids(at):
    paper = (60, 64, 72)
    batch = "eg.tensor({{{{10, 20}}}, {{{30, 40}}}, {{{50, 60}}}}, 'u8')"
    right = [[(10,) * 3, (20,) * 3, paper, (30,) * 3, (40,) * 3], [paper] * 5,
             [(50,) * 3, (60,) * 3, paper, paper, paper]]
    same("a batch", picture(at, f"eg.show({batch}, {{scale = 1}})"), right)
    column = picture(at, f"eg.show({batch}, {{scale = 1, columns = 1}})")
    same("in one column", column, [right[0][:2], [paper] * 2, right[0][3:], [paper] * 2, right[2][:2]])
    mixed = picture(at, "eg.show({eg.full({3, 3}, 9, 'u8'), eg.full({3, 1, 1}, 200, 'u8')}, {scale = 1})")
    gray, dot = (9,) * 3, (200,) * 3
    same("of several sizes", mixed, [[gray] * 3 + [paper] * 4, [gray] * 3 + [paper, paper, dot, paper],
                                     [gray] * 3 + [paper] * 4])
    stack = picture(at, "eg.show(eg.full({5, 2, 2}, 7, 'u8'), {scale = 1, columns = 5})")
    check("[K, H, W] is K images", len(stack) == 2 and len(stack[0]) == 14)


def hooks(at):
    code = """
local before = eg.display(function(kind, data, text)
    io.write(kind, "|", text, "|")
    local f = io.open(PATH, "wb") f:write(data) f:close()
end)
assert(before == nil)
eg.show(a, {scale = 1})
eg.plot({1, 2, 3})
local mine = eg.display(nil)
assert(type(mine) == "function")
eg.show(a)"""
    out = run(IMAGE + code.replace("PATH", f"'{at}/hook.png'"), "none").decode()
    check("kind and words", out.startswith("image/png|[a picture of 8 x 6 pixels]|image/png|")
          and out.endswith("|[a picture of 8 x 6 pixels]\n") and "┤" in out, out)
    plot = read_png(open(f"{at}/hook.png", "rb").read())
    check("a plot as a picture", (len(plot), len(plot[0])) == (576, 960))
    check("the hook's error is raised", "ouch" in run(IMAGE + "eg.display(function() error('ouch') end) eg.show(a)",
                                                      "none", expect=1))


def sheets(at):
    """Titles and captions, and images as the pictures of an animation."""
    code = """
local images = eg.stack({a, a, a}, 0)
eg.show(images, {title = "Three", captions = {"one", "two", "three"}, columns = 3, path = PNG})
eg.show(images, {captions = {"one", "two", "three"}, gif = GIF, seconds = 0.5})
eg.display(function(kind, data, text) print(kind, data:sub(1, 6), #data, text) end)
eg.show(images, {gif = GIF, scale = 2})"""
    told = run(IMAGE + code.replace("PNG", f"'{at}/sheet.png'").replace("GIF", f"'{at}/film.gif'"), "none").decode()
    lines = told.splitlines()
    sheet = read_png(open(f"{at}/sheet.png", "rb").read())
    check("a sheet has room for three images 16 times as large, and words", len(sheet) > 96 + 40
          and len(sheet[0]) > 3 * 128, (len(sheet), len(sheet[0])))
    words = sum(1 for row in sheet for pixel in row if max(pixel) < 128)
    check("with letters", words > 300, words)
    check("an animation is a file", lines[0] == f"[an animation of 3 images: {at}/film.gif]", told)
    film = open(f"{at}/film.gif", "rb").read()
    check("of three pictures, that repeats", film[:6] == b"GIF89a" and film.count(b"\x21\xf9\x04") == 3
          and b"NETSCAPE2.0" in film)
    check("a hook gets it", lines[1] == f"image/gif\tGIF89a\t{len(film)}\t[an animation of 3 images: {at}/film.gif]", told)
    check("too few captions", "1 captions for 3 images" in run(
        IMAGE + "eg.show(eg.stack({a, a, a}, 0), {captions = {'one'}})", "none", expect=1))


def charts(at):
    text = run("eg.plot({1, 2, 3, 4}, {title = 'Ascent', xlabel = 'step', labels = 'height'})", "none").decode()
    lines = text.splitlines()
    check("title, labels, no escapes", "Ascent" in lines[0] and "step" in text and "── height" in lines[-1]
          and "\x1b" not in text and max(map(len, lines)) <= 80, text)
    field = [line.split("┤")[-1].split("│")[-1] for line in lines if "┤" in line or "│" in line]
    check("it rises to the right", len(field) == 16 and field[-1][0] != " " and field[-1].rstrip() == field[-1][:
          len(field[-1].rstrip())] and len(field[0].rstrip()) > len(field[-1].rstrip()), text)
    two = run("eg.plot({{1, 2, 3}, eg.tensor{3, 2, 1}}, {labels = {'up', 'down'}})", "none").decode()
    check("curves are told apart", "1 up" in two and "2 down" in two and two.splitlines()[0].endswith(" 1"), two)
    log = run("eg.plot({1, 10, 100, 1000}, {log = true})", "none").decode()
    check("powers of ten", all(f"{10 ** i} ┤" in log.replace("1k", "1000") for i in range(4)), log)
    run("eg.plot({0, 1, 4}, eg.tensor{1, 0/0, 3})", "none")
    run("eg.plot({eg.scalar(1), 2, eg.tensor{3}:sum()}, {smooth = 0.5})", "none")
    one, two = (run("eg.plot({0/0, 2, 3, 4}, {%s, 1, 2, 3}, {smooth = 0.9})" % y, "none") for y in ("0/0", "1e50"))
    check("what has no place has no part in the average", one == two, two.decode())
    coloured = run("eg.plot{1, 2}", "blocks", COLORTERM="truecolor").decode()
    check("colours", "\x1b[38;2;31;111;191m" in coloured, coloured)
    pixels = picture(at, "eg.plot(eg.tensor{{1, 2, 3}, {3, 2, 1}}, {width = 480, height = 300})")
    flat = [p for row in pixels for p in row]
    check("as a picture, both curves", len(pixels) == 300 and len(pixels[0]) == 480 and (31, 111, 191) in flat
          and (224, 108, 24) in flat)


DARK, YELLOW = (68, 1, 84), (253, 231, 37)  # the ends of the scale


def field(pixels, values):
    """Where the map of these values, of 0 and 1, lies: left, top and the side of a cell. Each is all of one colour."""
    at = [(x, y) for y, row in enumerate(pixels) for x, p in enumerate(row) if p == (YELLOW if values[0][0] else DARK)]
    left, top = min(x for x, _ in at), min(y for _, y in at)
    side = 1
    while pixels[top][left + side] == pixels[top][left]:
        side += 1
    side //= next((j for j, v in enumerate(values[0]) if v != values[0][0]), len(values[0]))
    right = all(pixels[top + i * side + y][left + j * side + x] == (YELLOW if v else DARK)
                for i, row in enumerate(values) for j, v in enumerate(row) for y in range(side) for x in range(side))
    check("the values are in their places", right, f"{left} {top} {side}")
    return left, top, side


def differing(a, b):
    """The box around the pixels that are not the same; None: all are."""
    check("pictures of the same size", (len(a), len(a[0])) == (len(b), len(b[0])))
    at = [(x, y) for y, rows in enumerate(zip(a, b)) for x, (p, q) in enumerate(zip(*rows)) if p != q]
    return at and (min(x for x, _ in at), min(y for _, y in at), max(x for x, _ in at) + 1, max(y for _, y in at) + 1)


def heatmaps(at):
    values = [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]
    x = "eg.tensor{{%s}}" % "}, {".join(", ".join(map(str, row)) for row in values)

    def drawn(options=""):
        return picture(at, f"eg.heatmap({x}, {{{options}}})")

    def words(rows="'das', 'Mädchen', 'été'", columns="'<start>', '¿qué?', 'niños', '日本'"):
        return f"rows = {{{rows}}}, columns = {{{columns}}}"

    bare, worded = drawn(), drawn(words())
    left, top, side = field(worded, values)
    check("words take room beside the map and above it", left > field(bare, values)[0] and top > field(bare, values)[1]
          and side == field(bare, values)[2])
    for what, others, box in (
            ("the second word of the rows", words(rows="'das', 'Mâdchen', 'été'"),
             (0, top + side, left, top + 2 * side)),
            ("the third", words(rows="'das', 'Mädchen', 'ete'"), (0, top + 2 * side, left, top + 3 * side)),
            ("the third of the columns", words(columns="'<start>', '¿qué?', 'ninos', '日本'"),
             (left + 2 * side, 0, left + 3 * side, top)),
            ("one the font may lack", words(columns="'<start>', '¿qué?', 'niños', '日'"),
             (left + 3 * side, 0, left + 4 * side, top))):
        away = differing(worded, drawn(others))
        check(f"{what} is at its row or column, outside of the map", away and box[0] <= away[0] and box[1] <= away[1]
              and away[2] <= box[2] and away[3] <= box[3], f"{away} {box}")
    check("without words there are none", not differing(bare, drawn("rows = nil")))
    titled = drawn("title = 'Wer sieht was'")
    check("a title is above it", field(titled, values)[1] > field(bare, values)[1])
    wide = drawn("range = {0, 2}")
    check("the range", (33, 144, 141) == wide[field(bare, values)[1]][field(bare, values)[0]])
    blank = picture(at, "eg.heatmap(eg.tensor{{1, 0/0, 0}})")
    left, top, side = field(picture(at, "eg.heatmap(eg.tensor{{1, 1, 0}})"), [[1, 1, 0]])
    check("what is not finite is white", blank[top + 5][left + side + 5] == (255, 255, 255)
          and blank[top + 5][left + 5] == YELLOW)
    for odd in ("{{1e300, 1e300}}", "{{-1.7e308, 1.7e308}}", "{{0/0}}", "{{true, false}}"):
        picture(at, f"eg.heatmap(eg.tensor({odd}))")
    picture(at, "eg.heatmap(eg.zeros{4000, 2}, {columns = {'a', 'b'}})")
    run(f"eg.heatmap({x}, {{path = '{at}/map.png'}})", "none")
    check("a file", not differing(bare, read_png(open(f"{at}/map.png", "rb").read())))


def maps_of_characters():
    x = "eg.tensor{{1, 0, 0}, {0, 0.5, 0/0}}"
    options = "{rows = {'wer', 'été'}, columns = {'ab', 'ñ', 'c\\n'}, title = 'Wo'}"
    told = run(f"eg.heatmap({x}, {options})", "none").decode()
    wanted = "Wo\n    a   c \n    b ñ   \nwer @@    \nété   ++??\n    0  .:-=+*#%@ 1\n"
    check("a map of characters", told == wanted, told)
    told = run(f"eg.heatmap({x}, {options})", "blocks", COLORTERM="truecolor").decode()
    check("with colours", [told.count(f"\x1b[48;2;{c}m  ") for c in ("253;231;37", "33;144;141")] == [1, 1], told)
    told = run("eg.heatmap(eg.zeros{200, 3})", "none").decode()
    check("a large one in words", told == "[a map of 200 x 3 values]\n", told)
    told = run("eg.heatmap(eg.zeros{20, 300})", "blocks", COLORTERM="truecolor").decode()
    check("or as a picture of blocks", "▀" in told)
    told = run("eg.display(function(kind, data, text) print(kind, data:sub(2, 4)) print(text) end) "
               f"eg.heatmap({x}, {options})", "none").decode()
    check("a hook gets both", told.startswith("image/png\tPNG\nWo\n") and "été   ++??" in told, told)


def sounds(at):
    """A tone of 1,000 Hz that ends after half of its second."""
    tone = "local t = eg.arange(0, 1, 1 / 8000) local x = (t * 2000 * math.pi):sin() * t:lt(0.5):cast 'f32' "
    drawn = picture(at, tone + "eg.sound(x, {rate = 8000})")
    blue = [(x, y) for y, row in enumerate(drawn[:200]) for x, pixel in enumerate(row) if pixel == (31, 111, 191)]
    left, right = 64, 64 + 1200 - 64 - 16
    half = [x for x, y in blue if (x - left) / (right - left) > .51]
    check("the waveform is loud for half a second", len({x for x, _ in blue if x < (left + right) // 2 - 2}) > 500
          and len(half) < 600 * 3, f"{len(blue)} {len(half)}")
    bottom, top = 200 + 320 - 44, 200 + 16
    row = bottom - round((bottom - top) / 4)  # 1 of 4 kHz
    loud = [x for x in range(left, right) if sum(drawn[row][x][:2]) > sum(drawn[top + 20][x][:2]) + 100]
    check("and so is 1 kHz in the spectrogram", loud and loud[0] < left + 30
          and abs(loud[-1] - (left + right) / 2) < 30, f"{loud[:1]} {loud[-1:]}")
    run(IMAGE + tone + f"eg.sound(x, {{rate = 8000, title = 'Ton', path = '{at}/tone.png'}})", "none")
    check("a file", len(read_png(open(f"{at}/tone.png", "rb").read())) == 520)
    told = run("eg.display(function(kind, data, text) print(kind, (data:sub(1, 50):gsub('[^ -~]', '?'))) print(text) end) "
               "eg.sound(eg.zeros{2, 4000}, {rate = 8000})", "none").decode()
    check("a hook gets a player and a picture", told.startswith(
        'text/html\t<audio controls src="data:audio/wav;base64,UklGRq') and "image/png" in told
        and told.count("[a sound of 0.5 seconds]") == 2, told)
    told = run("eg.sound(eg.zeros{4000}, {rate = 8000})", "none").decode()
    check("without pixels it is words", told == "[a sound of 0.5 seconds]\n", told)


def objects(at):
    """Frames around boxes: green of one class, another colour of the next, a mask within."""
    code = """
local photo = eg.full({3, 60, 80}, 90, "u8")
local boxes = eg.tensor {{10, 30, 40, 50}, {50, 35, 70, 55}}
local mask = eg.zeros({2, 60, 80}, "u8")
mask[1][{{6, 10}}]:add_scalar_(1)
eg.show(eg.draw_objects(photo, boxes, {labels = eg.tensor {0, 1}, masks = mask, OPTIONS}), {path = "%s/objects.png", scale = 1})""" % at
    run(code.replace("OPTIONS", "scale = 2"), "none")
    drawn = read_png(open(f"{at}/objects.png", "rb").read())
    check("twice as large", (len(drawn), len(drawn[0])) == (120, 160))
    first, second = drawn[80][20], drawn[90][100]
    check("frames in colours of their own", (90, 90, 90) not in (first, second) and first != second, f"{first} {second}")
    check("a mask in that of its box, half through", drawn[14][100] != (90, 90, 90) and drawn[14][100] != first
          and drawn[30][100] == (90, 90, 90), f"{drawn[14][100]}")
    run(code.replace("OPTIONS", "classes = {'cell', 'plate'}, scores = eg.tensor {0.5, 0.9}, least = 0.7"), "none")
    check("unlikely boxes are left out", read_png(open(f"{at}/objects.png", "rb").read())[45][10] == (90, 90, 90))


def memory(at):
    """A picture is let go of when it has been shown, not when the collector comes."""
    code = """
local big, most = eg.zeros({3, 500, 500}, "u8"), 0
for i = 1, 20 do
    SHOW
    most = math.max(most, eg.cpu():memory().live_bytes)
end
print(most < 2 * 750000 and "little", most)"""
    for call in (f"eg.show(big, {{path = '{at}/a.png'}})", f"eg.plot({{1, 2}}, {{path = '{at}/a.png'}})",
                 "eg.display(function() end) eg.show(big)", f"eg.heatmap(eg.ones{{30, 30}}, {{path = '{at}/a.png'}})"):
        told = run(code.replace("SHOW", call), "none").decode()
        check(f"{call}: memory does not grow", "little" in told, told)


def refusals():
    for code, words in (("eg.show(1)", "tensor"), ("eg.show({})", "1 to 1024"), ("eg.show(eg.zeros{2, 2, 2, 2, 2})", "an image is"),
                        ("eg.show(eg.zeros{0, 3})", "an image is"), ("eg.show(eg.zeros{3, 3}, {scale = -1})", "scale"),
                        ("eg.show(eg.zeros{3, 3}, {range = {1, 1}})", "range"), ("eg.show({eg.zeros{2, 2}, 3})", "tensor"),
                        ("eg.plot({})", "no point"), ("eg.plot({0/0})", "no point"), ("eg.plot('x')", "list of numbers"),
                        ("eg.show(eg.zeros{3, 3}, {scale = 'x'})", "scale must be a positive number"),
                        ("eg.show(eg.zeros{3, 3}, {range = {1}})", "range is two numbers"),
                        ("eg.show(eg.zeros{3, 3}, {range = {-1/0, 0}})", "range is two numbers"),
                        ("eg.plot({1}, {labels = 1})", "labels must be"),
                        ("eg.plot({1}, {smooth = 'x'})", "smooth must"),
                        ("eg.plot({1}, {log = 'z'})", "log must be"), ("eg.plot({1}, {log = 10})", "log must be"),
                        ("eg.plot(eg.zeros{1, 1}:expand{1, (1 << 32) + 3})", "at most 100,000,000"),
                        ("eg.plot({1, {}})", "among the numbers"), ("eg.plot({1, 2}, {1, 2, 3})", "3 values, and x 2"),
                        ("eg.plot(eg.zeros{9, 3})", "more than 8"), ("eg.plot({1}, {labels = {1}})", "strings"),
                        ("eg.heatmap(1)", "tensor"), ("eg.heatmap(eg.ones{3})", "has 1 axes"),
                        ("eg.heatmap(eg.ones{0, 3})", "1 to 4000"), ("eg.heatmap(eg.ones{2, 4001})", "sizes 2, 4001"),
                        ("eg.heatmap(eg.ones{2, 2}, {rows = {'a'}})", "rows has 1 words, and the map 2 rows"),
                        ("eg.heatmap(eg.ones{2, 2}, {columns = {'a', 1}})", "columns must be a list of strings"),
                        ("eg.heatmap(eg.ones{2, 2}, {rows = 'ab'})", "rows must be a list of strings"),
                        ("eg.heatmap(eg.ones{2, 2}, {rows = {'a', 'b\\0'}})", "zero byte"),
                        ("eg.heatmap(eg.ones{2, 2}, {range = {2, 1}})", "range is two numbers"),
                        ("eg.heatmap(eg.ones{2, 2}, {title = 1})", "title must be a string"),
                        ("eg.heatmap(eg.ones{2, 2}, {scale = 1})", "no option 'scale'"),
                        ("eg.sound(1, {rate = 1})", "tensor"), ("eg.sound(eg.zeros{0}, {rate = 1})", "not empty"),
                        ("eg.sound(eg.zeros{1, 1, 1}, {rate = 1})", "[channels, samples]"),
                        ("eg.sound(eg.zeros{1})", "expected, got nil"), ("eg.sound(eg.zeros{1}, {})", "must be given"),
                        ("eg.sound(eg.zeros{1}, {rate = 8.5})", "samples a second"),
                        ("eg.sound(eg.zeros{1}, {rate = 8, scale = 1})", "no option 'scale'"),
                        ("eg.draw_objects(eg.zeros({3, 4, 4}, 'u8'), eg.zeros{4})", "[k, 4]"),
                        ("eg.draw_objects(eg.zeros({3, 4, 4}, 'u8'), eg.zeros{1, 4}, {classes = {1}})", "list of strings"),
                        ("eg.draw_objects(eg.zeros({3, 4, 4}, 'u8'), eg.zeros{1, 4}, {scale = 0.5})", "an integer from 0"),
                        ("eg.draw_objects(eg.zeros({3, 4, 4}, 'u8'), eg.zeros{1, 4}, {names = {}})", "no option 'names'"),
                        ("eg.display(1)", "function expected")):
        for way in ("none", "kitty"):
            said = run(code, way, expect=1)
            check(f"{code} says why", words in said and "-e:1" in said, said)


with tempfile.TemporaryDirectory() as folder:
    blocks()
    kitty()
    sixel()
    terminals()
    files(folder)
    values(folder)
    grids(folder)
    hooks(folder)
    sheets(folder)
    charts(folder)
    heatmaps(folder)
    maps_of_characters()
    sounds(folder)
    objects(folder)
    memory(folder)
    refusals()
finish()
