-- words.lua - clips of a word each: files of Speech Commands, or words of vowels that nobody says.
--
--     local all = words.open(folder, {voices = 60, seed = 1})
--     all.learned.sounds, all.learned.labels           -- f32 [n, 16000], i64 [n]; and all.valid, all.test
--     all:batch(all.learned, places, true)             -- of these places, i64 [n], moved and with noise
local eg = require "egret"

local words = {labels = {"_silence_", "_unknown_", "yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"},
               rate = 16000}
words.__index = words

-- ---- who is learned from ------------------------------------------------------------------------------
-- A hash of the speaker's name says which part a clip is in, so that nobody is in two (SHA-1, FIPS 180-4).

local function rotated(x, n) return (x << n | x >> (32 - n)) & 0xffffffff end

local function sha1(text)
    local h = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}
    local data = text .. "\x80" .. ("\0"):rep((55 - #text) % 64) .. (">I8"):pack(8 * #text)
    for at = 1, #data, 64 do
        local w = {(">I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4"):unpack(data, at)}
        for i = 17, 80 do
            w[i] = rotated(w[i - 3] ~ w[i - 8] ~ w[i - 14] ~ w[i - 16], 1)
        end
        local a, b, c, d, e = table.unpack(h)
        for i = 1, 80 do
            local f, k
            if i <= 20 then
                f, k = b & c | ~b & d, 0x5a827999
            elseif i <= 40 or i > 60 then
                f, k = b ~ c ~ d, i <= 40 and 0x6ed9eba1 or 0xca62c1d6
            else
                f, k = b & c | b & d | c & d, 0x8f1bbcdc
            end
            a, b, c, d, e = (rotated(a, 5) + (f & 0xffffffff) + e + k + w[i]) & 0xffffffff, a, rotated(b, 30), c, d
        end
        for i, v in ipairs {a, b, c, d, e} do
            h[i] = (h[i] + v) & 0xffffffff
        end
    end
    return h
end

--- The part of a file's name: "learned", "valid" or "test", a tenth of the speakers each of these.
function words.part_of(name)
    local percent = (sha1(name:gsub("_nohash_.*$", "") .. "")[5] & (1 << 27) - 1) * 100 / ((1 << 27) - 1)
    return percent < 10 and "valid" or percent < 20 and "test" or "learned"
end

-- ---- made up ------------------------------------------------------------------------------------------
-- A voice is a row of harmonics; a vowel says which of them are loud, by where its two formants lie (Peterson and Barney
-- 1952). A word glides over three vowels.

local formants = {{270, 2290}, {390, 1990}, {530, 1840}, {660, 1720}, {730, 1090}, {570, 840}, {440, 1020}, {300, 870}}
local spelt = {yes = {1, 4, 3}, no = {6, 6, 8}, up = {5, 5, 7}, down = {5, 6, 8}, left = {3, 3, 4}, right = {5, 2, 1},
               on = {6, 6, 6}, off = {6, 5, 5}, stop = {7, 6, 5}, go = {8, 6, 8}, bed = {4, 4, 4}, bird = {7, 7, 7},
               cat = {4, 4, 2}, dog = {5, 6, 5}, two = {8, 8, 8}, three = {1, 1, 1}}

--- A sound of a second, f32 [16000].
function words.say(word, pitch, tract)
    local n, vowels = words.rate, spelt[word]
    local lasts = 0.35 + 0.25 * math.random()
    local begins, bend = math.random() * (0.95 - lasts), 0.2 * (math.random() - 0.5)
    local at = (eg.arange(0, n, 1) / n - begins) / lasts -- 0 to 1 while it is said
    local loud = (at:clamp(0, 1) * math.pi):sin()
    local phase = eg.cumsum((at:clamp(0, 1) * bend + 1) * (2 * math.pi * pitch / n), 0)
    local place = at:clamp(0, 0.999) * 3
    local function formant(k) -- over time
        local from, to, share = {}, {}, place - place:floor()
        for i = 1, 3 do
            from[i], to[i] = formants[vowels[i]][k] * tract, formants[vowels[math.min(i + 1, 3)]][k] * tract
        end
        local i = place:floor():cast "i64"
        local a, b = eg.tensor(from, "f32"):index_select(0, i), eg.tensor(to, "f32"):index_select(0, i)
        return a + (b - a) * share
    end
    local low, high, sound = formant(1), formant(2), eg.normal({n}, 0, 0.003)
    for k = 1, 4000 // pitch do
        local near = (((low - k * pitch) / 80):square() * -0.5):exp() + (((high - k * pitch) / 120):square() * -0.5):exp() * 0.5
        sound = sound + (near + 0.02) * (phase * k):sin() * loud * 0.15
    end
    return sound
end

-- ---- sets ---------------------------------------------------------------------------------------------

local function number_of(word)
    for i, label in ipairs(words.labels) do
        if label == word then
            return i - 1
        end
    end
    return 1
end

local function mono(sound, rate)
    sound = sound:mean {axes = 0}
    return rate ~= words.rate and eg.audio_resample(sound, rate, words.rate) or sound
end

local function add(part, sound, label)
    local list = label == 1 and part.others or part.wanted
    list[#list + 1] = {sound:audio_fit(words.rate), label}
end

local function from_files(folder, parts, noises)
    for name, file in eg.data.files(folder .. "/*/*.wav") do
        local word, base = name:bytes():match "([^/]+)/([^/]+)$"
        if word == "_background_noise_" then
            noises[#noises + 1] = mono(eg.audio_parse(file:bytes()))
        else
            add(parts[words.part_of(base)], mono(eg.audio_parse(file:bytes())), number_of(word))
        end
    end
end

local function made(count, parts, noises)
    local names = {}
    for name in pairs(spelt) do
        names[#names + 1] = name
    end
    table.sort(names)
    for voice = 1, count do
        local pitch, tract = 90 + math.random(0, 140), 0.9 + 0.25 * math.random()
        local part = parts[({"valid", "test"})[voice % 10] or "learned"]
        for _, name in ipairs(names) do
            add(part, words.say(name, pitch, tract), number_of(name))
        end
    end
    noises[1] = eg.normal({10 * words.rate}, 0, 0.2)
    noises[2] = eg.cumsum(noises[1], 0) * 0.02 -- white, and brown
end

--- What is in a folder, WORD/SPEAKER_nohash_TAKE.wav and _background_noise_/*.wav; or made up, for nil.
function words.open(folder, options)
    math.randomseed(options.seed)
    local all = setmetatable({noises = {}}, words)
    local parts, names = {}, {"learned", "valid", "test"}
    for _, name in ipairs(names) do
        parts[name] = {wanted = {}, others = {}}
    end
    if folder then
        from_files(folder, parts, all.noises)
    else
        made(options.voices, parts, all.noises)
    end
    for _, name in ipairs(names) do -- a tenth as many unknown words and silences as there are wanted ones
        local part, sounds, labels = parts[name], {}, {}
        local tenth = math.ceil(#part.wanted / 10)
        for i = 1, math.min(tenth, #part.others) do
            local k = math.random(i, #part.others)
            part.others[i], part.others[k] = part.others[k], part.others[i]
            part.wanted[#part.wanted + 1] = part.others[i]
        end
        for i = 1, tenth do
            part.wanted[#part.wanted + 1] = {eg.zeros {words.rate}, 0}
        end
        for i, row in ipairs(part.wanted) do
            sounds[i], labels[i] = row[1], row[2]
        end
        assert(#sounds > 0, "there is no word that is wanted")
        all[name] = {sounds = eg.stack(sounds, 0), labels = eg.tensor(labels, "i64")}
    end
    return all
end

--- Clips of a part at some places: sounds [n, 16000] and labels. Those to learn from are moved by up to a tenth of a
--- second, and most get a noise; silence has one always, as loud as it may be.
function words:batch(part, places, learned)
    local sounds, labels = {}, part.labels:index_select(0, places)
    for i = 1, #places do
        local x, silent = part.sounds[places[i]:item() + 1], labels[i]:item() == 0
        local chance = eg.uniform({3}, 0, 1):table()
        x = learned and x:audio_shift((3200 * chance[1]) // 1 - 1600 | 0) or x
        if #self.noises > 0 and (silent or learned and chance[2] < 0.8) then
            local noise = self.noises[1 + (chance[3] * #self.noises) // 1 | 0]
            x = x:audio_mix(noise, {volume = (silent and 1 or 0.1) * math.max(chance[2], 1e-3)}):clamp(-1, 1)
        end
        sounds[i] = x
    end
    return eg.stack(sounds, 0), labels
end

return words
