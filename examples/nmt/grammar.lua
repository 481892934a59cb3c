-- grammar.lua - 777,600 Spanish sentences and what they mean in English, from a small grammar with articles,
-- numbers, genders and persons that agree.
--
--     grammar.count                 how many there are
--     grammar.sentence(number)      "the cat sees a red house .", "el gato ve una casa roja ."; from 0

local function words(text)
    local list = {}
    for line in text:gmatch "[^\n]+" do
        local row = {}
        for field in (line .. "|"):gmatch "([^|]*)|" do
            row[#row + 1] = field
        end
        list[#list + 1] = row
    end
    return list
end

-- Spanish for one and for many, English for one and for many, gender.
local beings = words [[
gato|gatos|cat|cats|m
perro|perros|dog|dogs|m
niño|niños|boy|boys|m
niña|niñas|girl|girls|f
hombre|hombres|man|men|m
mujer|mujeres|woman|women|f]]

local things = words [[
casa|casas|house|houses|f
libro|libros|book|books|m
mesa|mesas|table|tables|f
coche|coches|car|cars|m
flor|flores|flower|flowers|f
árbol|árboles|tree|trees|m
carta|cartas|letter|letters|f
zapato|zapatos|shoe|shoes|m
silla|sillas|chair|chairs|f
huevo|huevos|egg|eggs|m]]

-- Masculine for one and for many, feminine likewise, English; the first says nothing.
local adjectives = words [[
||||
rojo|rojos|roja|rojas|red
blanco|blancos|blanca|blancas|white
nuevo|nuevos|nueva|nuevas|new
viejo|viejos|vieja|viejas|old
pequeño|pequeños|pequeña|pequeñas|small
bonito|bonitos|bonita|bonitas|pretty
grande|grandes|grande|grandes|big
verde|verdes|verde|verdes|green]]

-- I, you, we, one and many of them; English, and English for one. Spanish needs no word for the first three persons.
local verbs = words [[
veo|ves|vemos|ve|ven|see|sees
busco|buscas|buscamos|busca|buscan|look for|looks for
pinto|pintas|pintamos|pinta|pintan|paint|paints
quiero|quieres|queremos|quiere|quieren|want|wants
compro|compras|compramos|compra|compran|buy|buys
vendo|vendes|vendemos|vende|venden|sell|sells
tengo|tienes|tenemos|tiene|tienen|have|has
limpio|limpias|limpiamos|limpia|limpian|clean|cleans]]

local times = words [[
|
hoy|today
ahora|now
cada día|every day
aquí|here
los lunes|on Mondays]]

local pronouns, forms = {"I", "you", "we"}, {"statement", "denial", "question"}
local articles = {m = {"el", "los", "un", "unos"}, f = {"la", "las", "una", "unas"}}

local function say(...)
    return (table.concat({...}, " "):gsub(" +", " "):gsub("^ ", ""))
end

local function spanish(m)
    local subject, thing, many = "", m.thing, m.many and 2 or 1
    if m.being then
        subject = articles[m.being[5]][m.person - 3] .. " " .. m.being[m.person - 3]
    end
    local verb = m.verb[m.person]
    local object = articles[thing[5]][(m.some and 2 or 0) + many] .. " " .. thing[many]
    object = say(object, m.adjective[(thing[5] == "f" and 2 or 0) + many], m.time[1])
    if m.form == "question" then
        return say("¿", verb, subject, object, "?")
    end
    return say(subject, m.form == "denial" and "no" or "", verb, object, ".")
end

local function english(m)
    local subject = m.being and "the " .. m.being[m.person - 1] or pronouns[m.person]
    local help, thing, kind = m.person == 4 and "does" or "do", m.thing[m.many and 4 or 3], m.adjective[5]
    local article = not m.some and "the" or m.many and "some" or (kind .. thing):find "^[aeiou]" and "an" or "a"
    local object = say(article, kind, thing, m.time[2])
    if m.form == "question" then
        return say(help, subject, m.verb[6], object, "?")
    elseif m.form == "denial" then
        return say(subject, help, "not", m.verb[6], object, ".")
    end
    return say(subject, m.verb[m.person == 4 and 7 or 6], object, ".")
end

local subjects = #pronouns + 2 * #beings
local grammar = {count = subjects * #verbs * #forms * #things * 2 * 2 * #adjectives * #times}

function grammar.sentence(number)
    local function pick(n)
        local choice = number % n
        number = number // n
        return choice + 1
    end
    local subject = pick(subjects)
    local being = subject - #pronouns - 1
    local m = {
        person = being < 0 and subject or 4 + being % 2, being = beings[being // 2 + 1], verb = verbs[pick(#verbs)],
        form = forms[pick(#forms)], thing = things[pick(#things)], many = pick(2) == 2, some = pick(2) == 2,
        adjective = adjectives[pick(#adjectives)], time = times[pick(#times)],
    }
    return english(m), spanish(m)
end

return grammar
