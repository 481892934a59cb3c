-- Texts in Lua: JSON as tables.
local eg = require "egret"
local check = require "check"
local test, equal, fails = check.test, check.equal, check.fails
local json = eg.json

test("JSON becomes tables", function()
    local v = json.decode '{"a":[1,2.0,"x\\u0000y",true,null],"b":{"c":{}}}'
    equal(v.a[1], 1)
    equal(math.type(v.a[1]), "integer")
    equal(math.type(v.a[2]), "float")
    equal(v.a[3], "x\0y")
    equal(v.a[4], true)
    assert(v.a[5] == json.null and tostring(json.null) == "null")
    equal(#v.a, 5)
    equal(next(v.b.c), nil)
    equal(json.decode("3"), 3)
    equal(json.decode(eg.from_bytes "[]"), {})
    equal(json.decode "9223372036854775807", math.maxinteger)
    fails(function() json.decode "[1," end, "byte 3", "ends early")
    fails(function() json.decode() end, "got nil")
end)

test("tables become JSON", function()
    equal(json.encode {b = 1, a = {1, 2.5, "q\"", false, json.null}, [""] = {}},
          '{"":{},"a":[1,2.5,"q\\"",false,null],"b":1}')
    equal(json.encode(json.array {}), "[]")
    equal(json.encode(json.decode "[[],{}]"), "[[],{}]")
    equal(json.encode("x"), '"x"')
    equal(json.encode(nil), "null")
    equal(json.encode(2.0), "2.0")
    equal(json.encode({a = {1}}, {indent = 2}), '{\n  "a": [\n    1\n  ]\n}')
    fails(function() json.encode {1, nil, 3, n = 1} end, "a list and names")
    fails(function() json.encode {[1] = 1, [3] = 3} end, "holes")
    fails(function() json.encode {print} end, "function")
    fails(function() json.encode(0 / 0) end, "nan")
    fails(function() json.encode {[1.5] = 1} end, "JSON")
    fails(function() json.encode {["a\0"] = 1} end, "zero byte")
    fails(function() json.encode("\xff") end, "UTF-8")
    fails(function() json.encode({}, {indents = 1}) end, "indents")
    local t = {}
    t.t = t
    fails(function() json.encode(t) end, "deep in each other")
end)

test("JSON in files", function()
    local path = os.tmpname()
    json.save({x = {1, 2}}, path)
    equal(json.load(path), {x = {1, 2}})
    os.remove(path)
    fails(function() json.load(path) end, "cannot open")
end)

test("metrics of language", function()
    local m = eg.metrics()
    m:bleu("b", "the cat sat on a mat", {"the cat sat on the mat", "a cat"}, {lower = true})
    equal(math.abs(m:value "b" - 56.234132519035) < 1e-9, true)
    equal(m:bleu_score("b", {smoothing = "none"}), m:value "b")
    equal(eg.bleu("a b", {"a b"}, {effective = true}), 100)
    m:exact_match("e", "the x", {}):exact_match("e", "x", {"the x"})
    equal(m:value "e", 0.5)
    m:spans("s", eg.tensor {0, 1, 2, 0}, eg.tensor {0, 1, 2, 0}, {"O", "B-A", "I-A"}, "iob2")
    equal(m:of("s", "precision", -2), 1)
    m:rouge("r", "a b", {"a b"}, {order = 2}):wer("w", "a b", "a c"):edits("i", eg.tensor {1}, eg.tensor {2})
    equal({m:value "r", m:value "w", m:value "i"}, {1, 0.5, 1})
    equal(eg.tensor({1, 2, 3}):edit_distance(eg.tensor {1, 3}), 1)
    fails(function() m:bleu("b", "x", "y") end, "table expected")
    fails(function() m:bleu("b", "x", {}) end, "no reference")
end)

test("corpora", function()
    local path = os.tmpname()
    local file = io.open(path, "w")
    file:write("The DT 1\ncat NN 2\n\nend NN 3\n")
    file:close()
    local seen = {}
    for words, numbers in eg.data.conll(path, {{at = 0, dtype = "u8"}, {at = -1, dtype = "i64"}}) do
        seen[#seen + 1] = words:bytes() .. #numbers:table()
    end
    equal(seen, {"The cat2", "end1"})
    fails(function() eg.data.glue(path, "mprc") end, "is none of cola, sst2")
    for a, b in eg.data.parallel_text(path, path) do equal(a:bytes(), b:bytes()) end
    os.remove(path)
    local x, y = eg.data.token_windows(eg.tensor {1, 2, 3, 4, 5, 6}, 2, 2)()
    equal({x:table(), y:table()}, {{{1, 4}, {2, 5}}, {{2, 5}, {3, 6}}})
end)

test("vectors of words", function()
    local path = os.tmpname()
    local file = io.open(path, "w")
    file:write("a 1 2\nb 3 4\n")
    file:close()
    local counts = eg.data.word_counts()
    counts:add(eg.text "b c b")
    local v = eg.data.vocabulary(counts)
    local vectors, found = eg.word_vectors_load(path, v, {found = true})
    os.remove(path)
    equal({vectors:table(), found:table()}, {{{3, 4}, {0, 0}}, {true, false}})
end)

test("hidden ids", function()
    local pieces = eg.tensor({0, 1, 2, 0}, "u8")
    eg.seed(1)
    local y, labels = eg.tensor({0, 1, 2, 0}):mask_tokens(pieces, 3, {share = 0.5, whole = true})
    equal(labels:table()[1] == 0 and labels:table()[2] == 1 or labels:table()[4] == 0, true)
    equal({y:table()[3], labels:table()[3]}, {2, -1})
    local d = eg.data.sentence_pairs(eg.arange(10, 20, 1, "i64"), eg.tensor {5, 5}, eg.tensor {1, 1}, 1, 2, {length = 9})
    for ids, segments, elsewhere in d do
        equal({#ids:table(), elsewhere:item()}, {#segments:table(), 1})
    end
end)

check.done()
