-- corpus.lua - a text as numbers: read or made.
--
--     local text = corpus.load(nil, 8000)
--     text.words                             a vocabulary, by falling count
--     text.train, text.valid, text.test      i64 [n]: sentences, behind each of which comes "<eos>"
local eg = require "egret"
local grammar = require "grammar"

local corpus = {}

local function read(folder, name)
    local lines = {}
    for line in eg.data.text_lines(folder .. "/ptb." .. name .. ".txt*") do
        lines[#lines + 1] = line:bytes() .. " <eos>"
    end
    return eg.text(table.concat(lines, " "))
end

local function make(count)
    local lines, surprise = {}, 0
    for i = 1, count do
        local sentence, more = grammar.sentence(function(n) return eg.randint({}, 1, n + 1):item() end)
        lines[i], surprise = sentence .. " <eos>", surprise + more
    end
    return eg.text(table.concat(lines, " ")), surprise
end

local function vocabulary(texts, options)
    local counts = eg.data.word_counts()
    for _, text in ipairs(texts) do
        counts:add(text)
    end
    return eg.data.vocabulary(counts, options)
end

--- Of equally frequent words the one that was met first is in front: so all are shown in order before.
local function number_words(text)
    local sorted = vocabulary({text}, {sorted = true})
    return vocabulary {sorted:decode(eg.arange(0, sorted:size(), 1, "i64")), text}
end

--- ptb.train.txt, ptb.valid.txt and ptb.test.txt of the folder; or as many sentences of the grammar, and a tenth of
--- that for each of the others. `least` is the lowest perplexity there can be of these.
function corpus.load(folder, count)
    local texts, least, surprise = {}, nil, nil
    for i, name in ipairs {"train", "valid", "test"} do
        if folder then
            texts[i] = read(folder, name)
        else
            texts[i], surprise = make(i == 1 and count or count // 10)
        end
    end
    local words = number_words(texts[1])
    for i, text in ipairs(texts) do
        texts[i] = words:encode(text, -1)
    end
    least = surprise and math.exp(surprise / #texts[3])
    return {words = words, train = texts[1], valid = texts[2], test = texts[3], least = least}
end

return corpus
