-- sentences.lua - sentences and the chunks of their words: read, or made by a small grammar.
--
--     local train, test = sentences.load(nil, 10000)
--     train[1].words, train[1].chunks       "the old dog sees a boat .", "B-NP I-NP I-NP B-VP B-NP I-NP O", as texts
local eg = require "egret"

local stems = {"bar", "dol", "fen", "gar", "hul", "kim", "lor", "mip", "nor", "pel", "quin", "ros", "sal", "tam", "vin"}
local nouns = {"dog", "boat", "letter", "garden", "road", "teacher", "house", "clock"}
local verbs = {"see", "find", "carry", "like", "know", "bring"}
local both = {"paint", "watch", "order", "plan", "help", "answer", "hammer", "water"}
local adjectives = {"old", "red", "small", "quiet", "open", "clean"}
local sentences = {}

local function any(list)
    return list[math.random(#list)]
end

--- A word that nobody has met, which its ending tells: a noun in -er, an adjective in -ous, a verb in -ize.
local function made(ending)
    return any(stems) .. any(stems) .. ending
end

local function noun_phrase(put)
    if math.random(6) == 1 then
        return put(any {"she", "they", "Anna", "London"}, "B-NP")
    end
    put(any {"the", "a"}, "B-NP")
    for _ = 1, math.random(0, 2) do
        put(math.random(2) == 1 and any(adjectives) or made "ous", "I-NP")
    end
    put(any {any(nouns), any(both), made "er"}, "I-NP")
end

local function clause(put)
    noun_phrase(put)
    local modal = math.random(3) == 1
    if modal then
        put(any {"will", "may"}, "B-VP")
    end
    put(any {any(verbs), any(both), made "ize"} .. (modal and "" or "s"), modal and "I-VP" or "B-VP")
    if math.random(4) == 1 then
        put(made "ly", "B-ADVP")
    end
    if math.random(4) > 1 then
        noun_phrase(put)
    end
    if math.random(2) == 1 then
        put(any {"of", "with", "in", "near"}, "B-PP")
        noun_phrase(put)
    end
end

local function make(count)
    local all = {}
    for i = 1, count do
        local words, chunks = {}, {}
        local function put(word, chunk)
            table.insert(words, word)
            table.insert(chunks, chunk)
        end
        clause(put)
        if math.random(4) == 1 then
            put(any {"because", "while"}, "B-SBAR")
            clause(put)
        end
        put(".", "O")
        all[i] = {words = eg.text(table.concat(words, " ")), chunks = eg.text(table.concat(chunks, " "))}
    end
    return all
end

local function read(path)
    local all = {}
    for words, chunks in eg.data.conll(path, {{at = 0, dtype = "u8"}, {at = 2, dtype = "u8"}}) do
        table.insert(all, {words = words:copy(), chunks = chunks:copy()})
    end
    return all
end

--- Those to learn from, and those to be judged by: of the folder, or so many made ones and 200.
function sentences.load(folder, count)
    if folder then
        return read(folder .. "/train.txt"), read(folder .. "/test.txt")
    end
    return make(count), make(200)
end

return sentences
