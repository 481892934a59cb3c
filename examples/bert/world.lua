-- Pairs of sentences about a small world, as world.c: somebody likes something, or does not, and makes a face.
local world = {}
local names = {"Anna", "Tom", "Maria", "Peter", "Ida", "Karl", "Nora", "Hugo", "Lea", "Omar"}
local things = {"coins", "letters", "apples", "books", "keys", "stamps", "pens", "eggs"}
local colours = {"red", "blue", "green", "old", "small", "heavy"}
local places = {"box", "bag", "drawer", "basket", "case", "jar"}
local verbs = {{"likes", "loves", "enjoys"}, {"hates", "fears", "dislikes"}}
local faces = {{"smiles", "laughs", "grins"}, {"frowns", "cries", "sighs"}}

-- Two texts, and 1 if both are in a good mood, else 0; draw(n) is 1..n.
function world.pair(draw)
    local function any(words)
        return words[draw(#words)]
    end
    local name, good, mood, other = any(names), draw(2) == 1, 1, 1
    if not good then
        mood = draw(2)
        other = mood == 2 and draw(2) or 2
    end
    return ("%s %s the %s %s."):format(name, any(verbs[mood]), any(colours), any(places)),
        ("%s %s at the %s of %s."):format(name, any(faces[other]), any(things), any(names)), good and 1 or 0
end

-- All its words, for a vocabulary.
function world.words()
    local all = {"the", "at", "of", "."}
    for _, words in ipairs {names, things, colours, places, verbs[1], verbs[2], faces[1], faces[2]} do
        for _, word in ipairs(words) do
            table.insert(all, word:lower())
        end
    end
    return all
end

return world
