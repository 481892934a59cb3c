"""Pictures out of what terminals are told: PNG files, kitty's graphics, sixels, half blocks. A picture is a list of
rows of (r, g, b)."""
import base64
import re
import struct
import zlib


def read_png(data):
    """8-bit gray, RGB or RGBA, not interlaced, every row's filter undone (PNG specification, section 9)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    at, packed, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], kind
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colours, _, _, interlaced = header
    assert depth == 8 and not interlaced, header
    channels = {0: 1, 2: 3, 6: 4}[colours]
    raw, rows, before = zlib.decompress(packed), [], bytes(width * channels)
    for y in range(height):
        start = y * (width * channels + 1)
        how, row = raw[start], bytearray(raw[start + 1:start + 1 + width * channels])
        for i in range(len(row)):
            a = row[i - channels] if i >= channels else 0
            b, c = before[i], before[i - channels] if i >= channels else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[i] = row[i] + (0, a, b, (a + b) // 2, nearest)[how] & 255
        before = bytes(row)
        rows.append([tuple(row[x:x + 3]) if channels > 1 else (row[x],) * 3 for x in range(0, len(row), channels)])
    return rows


def read_kitty(text):
    """The pictures in a stream, and the keys of each piece."""
    pictures, keys, data = [], [], b""
    for control, payload in re.findall(rb"\x1b_G([^;]*);([^\x1b]*)\x1b\\", text):
        pairs = dict(pair.split(b"=") for pair in control.split(b","))
        keys.append(({k.decode(): v.decode() for k, v in pairs.items()}, len(payload)))
        data += payload
        if pairs.get(b"m", b"0") == b"0":
            pictures.append(read_png(base64.b64decode(data)))
            data = b""
    return pictures, keys


def read_sixel(text):
    """The first picture (VT330/VT340 programmer reference, chapter 14): bands of six rows, a colour at a time."""
    body = re.search(rb"\x1bP[0-9;]*q(.*?)\x1b\\", text, re.S).group(1).decode()
    palette, pixels, colour, x, y, at = {}, {}, 0, 0, 0, 0
    while at < len(body):
        c, at = body[at], at + 1
        found = re.compile(r"[0-9;]*").match(body, at).group() if c in '#!"' else ""
        numbers, at = [int(n or 0) for n in found.split(";")] if found else [], at + len(found)
        times = 1
        if c == "#":
            colour = numbers[0]
            if len(numbers) > 1:
                assert numbers[1] == 2, "not RGB"
                palette[colour] = tuple(round(v * 255 / 100) for v in numbers[2:5])
        if c == "!":
            times, c, at = numbers[0], body[at], at + 1
        if c == "$":
            x = 0
        elif c == "-":
            x, y = 0, y + 6
        elif "?" <= c <= "~":
            for _ in range(times):
                for bit in range(6):
                    if ord(c) - 63 >> bit & 1:
                        pixels[x, y + bit] = palette[colour]
                x += 1
    width, height = max(x for x, _ in pixels) + 1, max(y for _, y in pixels) + 1
    return [[pixels[x, y] for x in range(width)] for y in range(height)]


def of_256(n):
    """xterm's colours from 16 on."""
    if n >= 232:
        return (8 + 10 * (n - 232),) * 3
    levels = (0, 95, 135, 175, 215, 255)
    return levels[(n - 16) // 36], levels[(n - 16) // 6 % 6], levels[(n - 16) % 6]


def read_blocks(text):
    """The half blocks in the lines that have any; None where a half has no colour."""
    rows, front, behind = [], None, None
    for line in text.split("\n"):
        high, low = [], []
        for codes, letter in re.findall(r"\x1b\[([0-9;]*)m|(.)", line):
            if letter == "▀":
                high.append(front)
                low.append(behind)
            if letter:
                continue
            numbers = [int(n or 0) for n in codes.split(";")]
            while numbers:
                n = numbers.pop(0)
                if n in (38, 48):
                    kind = numbers.pop(0)
                    value = tuple(numbers[:3]) if kind == 2 else of_256(numbers[0])
                    numbers = numbers[3 if kind == 2 else 1:]
                    front, behind = (value, behind) if n == 38 else (front, value)
                elif n in (0, 39, 49):
                    front = None if n != 49 else front
                    behind = None if n != 39 else behind
        if high:
            rows += [high, low]
    return rows[:-1] if rows and rows[-1][0] is None else rows
