-- talk.lua - utterances and what was said: files in LJ Speech's or LibriSpeech's layout, or made up of tones.
--
--     local list = talk.read(folder)                    -- {{path = .., text = "so it was"}, ..}, or talk.make(100, 1)
--     local x, frames, letters, counts = talk.batch(list, {1, 2, 3})
local eg = require "egret"

local talk = {letters = "abcdefghijklmnopqrstuvwxyz' ", rate = 16000, bins = 161}
talk.blank = #talk.letters

local function clean(text)
    return (text:lower():gsub("[%-\t]", " "):gsub("[^a-z' ]", ""):gsub(" +", " "):gsub("^ ", ""):gsub(" $", ""))
end

--- The letters of numbers, as text.
function talk.text(numbers)
    local text = {}
    for _, n in ipairs(numbers) do
        text[#text + 1] = n >= 0 and n < talk.blank and talk.letters:sub(n + 1, n + 1) or ""
    end
    return table.concat(text)
end

function talk.read(folder)
    local list, table_ = {}, io.open(folder .. "/metadata.csv")
    if table_ then
        for line in table_:lines() do
            local id, text = line:match "^([^|]+)|.-([^|]*)$"
            list[#list + 1] = {path = folder .. "/wavs/" .. id .. ".wav", text = clean(text)}
        end
        table_:close()
        return list
    end
    for _, depth in ipairs {"/", "/*/", "/*/*/", "/*/*/*/"} do
        local found, files = pcall(eg.data.files, folder .. depth .. "*.trans.txt")
        for name, file in found and files or function() end do
            for id, text in file:bytes():gmatch "(%S+) ([^\r\n]+)" do
                list[#list + 1] = {path = name:bytes():match "^(.*/)" .. id .. ".flac", text = clean(text)}
            end
        end
    end
    assert(#list > 0, folder .. " has neither metadata.csv nor *.trans.txt")
    return list
end

-- ---- made up ------------------------------------------------------------------------------------------
-- Each letter is a chord of its own of two tones, in a voice's pitch; a blank is nothing.

local which, who = {"a", "the", "my", "one"}, {"fish", "bird", "dog", "cat", "man", "hen"}
local does = {"sees", "has", "got"}

local function any(list) return list[math.random(#list)] end

local function say(text, seed)
    math.randomseed(seed)
    local each, pitch = (0.06 + 0.03 * math.random()) * talk.rate // 1 | 0, 0.95 + 0.1 * math.random()
    local t, parts = eg.arange(0, each, 1) / talk.rate, {eg.zeros {each}}
    local edge = (t * (math.pi * talk.rate / each)):sin() * 0.2
    for i = 1, #text do
        local k = talk.letters:find(text:sub(i, i), 1, true) - 1
        local low, high = pitch * (300 + 150 * (k % 6)), pitch * (1500 + 400 * (k // 6))
        parts[i + 1] = k == talk.blank - 1 and eg.zeros {each}
            or edge * ((t * (2 * math.pi * low)):sin() + (t * (2 * math.pi * high)):sin())
    end
    eg.seed(seed)
    local sound = eg.concat(parts, 0)
    return sound + eg.normal(sound:shape(), 0, 0.01)
end

function talk.make(count, seed)
    local list = {}
    for i = 1, count do
        math.randomseed(seed, i)
        list[i] = {seed = seed * 100000 + i, text = table.concat({any(which), any(who), any(does), any(which), any(who)}, " ")}
    end
    return list
end

-- ---- batches ------------------------------------------------------------------------------------------

local features = eg.nn.audio_features(talk.rate, {frame = 320, hop = 160, n_fft = 320, bands = 0, floor = 1e-14,
                                                  offset = 1e-14})

--- The samples of an utterance.
function talk.sound(utterance)
    if not utterance.path then
        return say(utterance.text, utterance.seed)
    end
    local sound, rate = eg.audio_load(utterance.path)
    sound = sound:mean {axes = 0}
    return rate ~= talk.rate and eg.audio_resample(sound, rate, talk.rate) or sound
end

--- Logarithms of spectra, [frames, 161], each bin with mean 0 and variance 1.
function talk.spectra(utterance)
    local x = features(talk.sound(utterance))
    x = x - x:mean {axes = 0, keepdim = true}
    return x / (x:square():mean {axes = 0, keepdim = true}:sqrt() + 1e-6)
end

--- Utterances of a list by number: spectra [N, frames, 161] with zeros behind, how many frames each has, letters
--- [N, longest], and how many.
function talk.batch(list, numbers)
    local x, y, frames, counts, longest, most = {}, {}, {}, {}, 0, 0
    for i, n in ipairs(numbers) do
        local u = list[n]
        u.spectra = u.spectra or talk.spectra(u) -- once; they are small
        x[i], frames[i], counts[i] = u.spectra, #u.spectra, #u.text
        longest, most = math.max(longest, frames[i]), math.max(most, counts[i])
    end
    for i, n in ipairs(numbers) do
        y[i] = {}
        for k = 1, most do
            local c = list[n].text:sub(k, k)
            y[i][k] = c ~= "" and talk.letters:find(c, 1, true) - 1 or 0
        end
        x[i] = x[i]:pad {after = {longest - frames[i]}}
    end
    return eg.stack(x, 0), eg.tensor(frames, "i64"), eg.tensor(y, "i64"), eg.tensor(counts, "i64")
end

return talk
