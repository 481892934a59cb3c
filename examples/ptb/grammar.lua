-- grammar.lua - sentences in the manner of a newspaper's pages of business, from a small grammar.
--
--     local sentence, surprise = grammar.sentence(function(n) return math.random(n) end)
--
-- A capital stands for any of its ways, which are all alike. No two lead to the same sentence, so that the ways taken
-- say how likely it is: surprise is minus the logarithm of that.
local rules = {
    S = "C V|C V T|T C V|P said C V|P says it W|C W",
    C = "Y corp.|Y inc.|Y co.|the Y group|the company",
    P = "mr. M|mr. M of C|a spokesman|an analyst|an official at the agency",
    V = "bought B|sold B|reported R|named mr. M J|agreed to buy B|declined to comment|closed A of its G plants",
    W = "expects R|plans to sell B|wants to build a G plant in L|will cut N jobs|may raise A of its prices",
    B = "N shares|a N N stake in C|its G unit|its G business in L for $ N million",
    R = "net income of $ N million|a loss of N cents a share|sales of $ N million O|lower earnings",
    O = "up from $ N million|down from $ N million|compared with $ N million a year ago",
    T = "last week|in X|on U|earlier this year|in the Q quarter|yesterday",
    A = "two|three|most|some|all",
    J = "president|chairman|chief executive officer|vice president|a director",
    G = "oil|steel|paper|computer|insurance|retail|chemicals|trucking",
    L = "texas|ohio|tokyo|london|mexico|canada",
    M = "baker|carter|hill|rossi|stone|young|wagner|lee",
    Q = "first|second|third|fourth",
    U = "monday|tuesday|wednesday|thursday|friday",
    X = "january|march|may|june|september|october",
    Y = "northern|pacific|united|general|lakeside|harbor|western|national|summit|delta",
}
local ways = {}
for symbol, rule in pairs(rules) do
    ways[symbol] = {}
    for way in rule:gmatch "[^|]+" do
        table.insert(ways[symbol], way)
    end
end

local grammar = {}

function grammar.sentence(draw)
    local surprise = 0
    local function write(symbol)
        local all = ways[symbol]
        surprise = surprise + math.log(#all)
        return (all[draw(#all)]:gsub("%S+", function(word)
            return ways[word] and write(word)
        end))
    end
    return write "S", surprise
end

return grammar
