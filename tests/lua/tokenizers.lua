-- Tokenizers beside what others made of the same lines (tests/golden/token_files.py).
--     tokenizers.lua FOLDER
local eg = require "egret"
local folder = assert(arg[1], "tokenizers.lua FOLDER")
local passed, failed, skipped = 0, 0, 0

local function same(a, b)
    if #a ~= #b then
        return false
    end
    for i = 1, #a do
        if type(a[i]) == "table" and not same(a[i], b[i]) or type(a[i]) ~= "table" and a[i] ~= b[i] then
            return false
        end
    end
    return true
end

local function show(t)
    local words = {}
    for i, x in ipairs(t) do
        words[i] = type(x) == "table" and x[1] .. ":" .. x[2] or tostring(x)
    end
    return table.concat(words, " ")
end

local function list(t)
    return t:numel() > 0 and t:table() or {}
end

-- A pair of texts cut as they were: rows of ids, types, special ones and offsets.
local function of_pair(t, theirs)
    local ours = t:encode(eg.text(theirs.text), {
        pair = eg.text(theirs.pair), max_length = theirs.max_length, stride = theirs.stride, cut_front = theirs.left,
        truncation = ({longest_first = "longest", only_first = "first", only_second = "second"})[theirs.how],
        windows = theirs.how ~= "longest_first"})
    local rows = #ours.ids:shape() == 2 and ours.ids:shape()[1] or 1
    if rows ~= #theirs.rows then
        return ("%d rows, not %d"):format(rows, #theirs.rows)
    end
    for i, row in ipairs(theirs.rows) do
        local n = #row.ids -- those behind are padding
        for name, field in pairs {ids = ours.ids, types = ours.types, special = ours.special, offsets = ours.offsets} do
            local values = list(field)
            values = rows > 1 and values[i] or #ours.ids:shape() == 2 and values[1] or values
            local mine = {}
            for k = 1, n do
                mine[k] = name == "special" and (values[k] == true or values[k] == 1) and 1 or
                    name == "special" and 0 or values[k]
            end
            if not same(mine, row[name]) then
                return name .. " of row " .. i .. ": " .. show(mine) .. "\n   not " .. show(row[name])
            end
        end
    end
end

local function of_text(t, theirs)
    local ours = t:encode(eg.text(theirs.text))
    if not same(list(ours.ids), theirs.ids) then
        return "ids " .. show(list(ours.ids)) .. "\n   not " .. show(theirs.ids)
    elseif theirs.offsets and not same(list(ours.offsets), theirs.offsets) then
        return "offsets " .. show(list(ours.offsets)) .. "\n      not  " .. show(theirs.offsets)
    elseif theirs.words and not same(list(ours.words), theirs.words) then
        return "words " .. show(list(ours.words)) .. "\n    not  " .. show(theirs.words)
    end
    local back = t:decode(ours.ids):bytes()
    if theirs.back and back ~= theirs.back then
        return "back " .. ("%q"):format(back) .. "\n not " .. ("%q"):format(theirs.back)
    end
end

local function say(name, wrong, all)
    print(("%s %s: %d of %d are different"):format(#wrong == 0 and "ok" or "FAIL", name, #wrong, all))
    for i = 1, math.min(#wrong, tonumber(os.getenv "EGRET_SHOWN") or 3) do
        print(wrong[i])
    end
    passed, failed = passed + (#wrong == 0 and 1 or 0), failed + (#wrong > 0 and 1 or 0)
end

-- nil where the build lacks a library that the file needs
local function load(path)
    local there, t = pcall(eg.tokenizer_load, path)
    assert(there or tostring(t):find "this build has no", t)
    return there and t or nil
end

local function compare(name, path)
    local t = load(path)
    if not t then
        skipped = skipped + 1
        return
    end
    local wrong, lines = {}, 0
    for line in io.lines(folder .. "/" .. name .. ".jsonl") do
        local theirs = eg.json.decode(line)
        local why = theirs.pair and of_pair(t, theirs) or not theirs.pair and of_text(t, theirs)
        lines = lines + 1
        if why then
            table.insert(wrong, ("%q"):format(theirs.text) .. "\n  " .. why)
        end
    end
    say(name, wrong, lines)
end

-- Random tokenizers (tests/golden/token_random.py), each with texts.
local function compare_random(path)
    local wrong, texts, file = {}, 0, os.tmpname()
    for line in io.lines(path) do
        local theirs = eg.json.decode(line)
        eg.json.save(theirs.file, file)
        local t = load(file)
        for _, record in ipairs(t and theirs.texts or {}) do
            local back = t:decode(#record.decoded > 0 and eg.tensor(record.decoded, "i64") or eg.zeros({0}, "i64"),
                                  {skip_specials = record.skip}):bytes()
            local why = of_text(t, {text = record.text, ids = record.ids, offsets = record.offsets, words = record.words})
            why = why or back ~= record.back and ("back %q\n not %q"):format(back, record.back)
            texts = texts + 1
            if why then
                table.insert(wrong, ("%q"):format(record.text) .. "\n  " .. why)
            end
        end
    end
    os.remove(file)
    say("random", wrong, texts)
end

local function texts(most)
    local all = {}
    for line in io.lines(folder .. "/train.txt") do
        all[#all + 1] = #all < most and eg.text(line) or nil
    end
    return all
end

-- The same vocabulary and merges, learned from the same texts.
local function learned(name, t)
    local path = os.tmpname()
    t:save(path)
    local ours, theirs = eg.json.load(path).model, eg.json.load(folder .. "/" .. name .. ".json").model
    os.remove(path)
    local wrong, all = {}, 0
    for token, id in pairs(theirs.vocab) do
        all = all + 1
        if ours.vocab[token] ~= id then
            table.insert(wrong, ("%q is %s, not %s"):format(token, ours.vocab[token], id))
        end
    end
    for i, pair in ipairs(theirs.merges) do
        all = all + 1
        if not ours.merges[i] or not same(ours.merges[i], pair) then
            table.insert(wrong, "merge " .. i .. " is " .. show(ours.merges[i] or {}) .. ", not " .. show(pair))
        end
    end
    if #ours.merges ~= #theirs.merges then
        table.insert(wrong, #ours.merges .. " merges, not " .. #theirs.merges)
    end
    say(name .. " learned", wrong, all)
end

local names = {}
for name in io.popen("ls " .. folder):lines() do
    names[name] = true
end
for name in pairs(names) do
    local base = name:match "^(.*)%.jsonl$"
    if base == "random" then
        compare_random(folder .. "/random.jsonl")
    elseif base then
        local path = folder .. "/" .. base
        compare(base, path .. (names[base .. ".json"] and ".json" or names[base .. ".txt"] and ".txt" or ".model"))
    end
end
if names["train.txt"] and passed > 0 then
    local all, size = texts(math.huge), eg.json.load(folder .. "/gpt2.json").model.vocab
    local n = 0
    for _ in pairs(size) do
        n = n + 1
    end
    learned("gpt2", eg.bpe_train(all, {vocabulary = n, specials = {"<|endoftext|>"}}))
    learned("letters", eg.bpe_train(all, {vocabulary = n, specials = {"[UNK]", "[PAD]"}, characters = true,
                                          alphabet = 60, min_count = 2}))
    local path, wrong = os.tmpname(), {}
    local small = n < 1000
    eg.subtokens_train(texts(2000), {vocabulary = small and 400 or 4000, within = small and 4 or 40}):save(path)
    local ours, theirs = io.open(path):read "a", io.open(folder .. "/subtokens.txt"):read "a"
    os.remove(path)
    wrong[1] = ours ~= theirs and ours:sub(1, 300) .. "\n  not " .. theirs:sub(1, 300) or nil
    say("subtokens learned", wrong, 1)
end
print(("%d passed, %d failed, %d skipped"):format(passed, failed, skipped))
os.exit(failed == 0, true)
