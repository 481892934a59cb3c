-- Numbers in words, English and German.
local english = {[0] = "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"}
local german = {[0] = "null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf",
    "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"}
local tens = {
    {"ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"},
    {"zehn", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"},
}

local function english_below_1000(n, words)
    if n >= 100 then
        table.insert(words, english[n // 100] .. " hundred")
    end
    n = n % 100
    if n >= 20 then
        table.insert(words, tens[1][n // 10] .. (n % 10 > 0 and "-" .. english[n % 10] or ""))
    elseif n > 0 then
        table.insert(words, english[n])
    end
end

-- In one word, ones in front of tens.
local function german_below_1000(n)
    local hundreds = n >= 100 and german[n // 100] .. "hundert" or ""
    n = n % 100
    if n < 20 then
        return hundreds .. (n > 0 and german[n] or "")
    end
    return hundreds .. (n % 10 > 0 and german[n % 10] .. "und" or "") .. tens[2][n // 10]
end

local M = {}

function M.english(n)
    local words = {}
    if n >= 1000 then
        english_below_1000(n // 1000, words)
        table.insert(words, "thousand")
    end
    english_below_1000(n % 1000, words)
    return n == 0 and english[0] or table.concat(words, " ")
end

function M.german(n)
    local word = (n >= 1000 and german_below_1000(n // 1000) .. "tausend" or "") .. german_below_1000(n % 1000)
    return n == 0 and german[0] or word .. (n % 100 == 1 and "s" or "") -- a one at the end is "eins"
end

return M
