-- corpus.lua - pairs of sentences: read or made, cleaned, turned into numbers, padded.
--
--     local spanish, english = corpus.load(nil, 12000)
--     spanish.words                 a vocabulary; "<pad>" is 0
--     spanish.rows                  i64 [12000, longest]: the sentences
local eg = require "egret"
local grammar = require "grammar"

local letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
local corpus = {}

--- "¿Qué?" becomes "<start> ¿ que ? <end>": lower case, no accents, marks apart, nothing but letters and marks.
function corpus.clean(sentence)
    local plain = eg.text_normalise(eg.text(sentence), {form = "nfd", drop = "Mn", lower = true, apart = "?.!,¿",
                                                        only = letters, trim = true})
    return eg.text("<start> " .. plain:bytes() .. " <end>")
end

local function language(sentences)
    local counts, texts, numbers = eg.data.word_counts(), {}, {}
    for i, sentence in ipairs(sentences) do
        texts[i] = corpus.clean(sentence)
        counts:add(texts[i])
    end
    local words = eg.data.vocabulary(counts, {reserved = {"<pad>"}, sorted = true})
    for i, text in ipairs(texts) do
        numbers[i] = words:encode(text, -1)
    end
    local rows = eg.pad_sequences(numbers, {pad_after = true})
    return {words = words, rows = rows, longest = rows:shape()[2]}
end

--- The first lines of spa.txt or spa.txt.gz: English, a tab, Spanish, and maybe another tab with whatever.
local function read(folder, count, add)
    local number = 0
    for line in eg.data.text_lines(folder .. "/spa.txt*"):take(count) do
        local english, spanish = line:bytes():match "^([^\t]*)\t([^\t]*)"
        number = number + 1
        if not spanish then
            error(("line %d has no tab between English and Spanish"):format(number), 0)
        end
        add(english, spanish)
    end
end

--- As many different sentences of the grammar.
local function make(count, add)
    for _, number in ipairs(eg.permutation(grammar.count)[{{1, count}}]:table()) do
        add(grammar.sentence(number))
    end
end

--- Both languages, of the folder's sentences or, without a folder, of made ones.
function corpus.load(folder, count)
    local spanish, english = {}, {}
    local function add(in_english, in_spanish)
        english[#english + 1], spanish[#spanish + 1] = in_english, in_spanish
    end
    if folder then
        read(folder, count, add)
    else
        make(count, add)
    end
    return language(spanish), language(english)
end

return corpus
