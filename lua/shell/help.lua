-- help.lua - the manual at the prompt; see shell.h. A chunk that gets the table of the module and
-- returns the function from a function or name, and how many characters fit a line, to a text, or nil.
local eg = ...

local overview = [[
Egret %s: tensors with gradients, in %s. The module is the global eg.

  x = eg.randn{3, 4}         a tensor; x:sum{axes = 0}, x[{1, {2, 3}}], x.T
  eg.nn, eg.optim, eg.data   layers, optimizers, sources of samples
  loss, g = eg.grad(f, w)    what f() returns, and its gradient by w
  eg.show(image)             a picture in the terminal
  eg.plot(losses)            a curve
  eg.heatmap(weights)        a matrix as colours
  eg.sound(x, {rate = 8000}) a waveform and its spectrogram
  x:shape(), x:dtype()       all else is a call; x:eq(y) compares, not ==

  help(eg.conv2d)            what the manual says of a function
  help(eg.nn), help(x)       the functions of a table, the methods of a value
  help"learning rate"        the pages that speak of that

Pages of the manual:
]]

-- ---- lines ---------------------------------------------------------------------------------------

local function letters(text)
    return utf8.len(text) or #text
end

-- A line in lines of at most `width` characters, broken between words; further ones stand further in.
local function wrapped(line, width)
    if letters(line) <= width then
        return line
    end
    local indent = line:match "^ *"
    local hang = indent == "" and "" or indent .. "    "
    local lines, now = {}, indent
    for gap, word in line:sub(#indent + 1):gmatch "( *)([^ ]+)" do
        local empty = now:find "^ *$"
        if not empty and letters(now) + #gap + letters(word) > width then
            lines[#lines + 1], now, empty = now, hang, true
        end
        now = now .. (empty and "" or gap) .. word
    end
    lines[#lines + 1] = now
    return table.concat(lines, "\n")
end

local function wrap(text, width)
    return (text:gsub("[^\n]+", function(line) return wrapped(line, width) end))
end

-- Names beside each other.
local function columns(names, width)
    local widest = 0
    table.sort(names)
    for _, name in ipairs(names) do
        widest = math.max(widest, #name)
    end
    local across, lines = math.max(1, (width - 2) // (widest + 2)), {}
    for i = 1, #names, across do
        local line = {}
        for j = i, math.min(i + across - 1, #names) do
            line[#line + 1] = names[j] .. (" "):rep(widest - #names[j])
        end
        lines[#lines + 1] = "  " .. table.concat(line, "  "):gsub("%s+$", "")
    end
    return table.concat(lines, "\n")
end

-- ---- pages ---------------------------------------------------------------------------------------

local function pages()
    return eg.manual_pages or function() return function() end end
end

-- How one writes the function: "eg.sort" of "values, indices = eg.sort(x, axis, descending)".
local function head(p)
    return p.usage:match "([%w_.:]+)%(" or p.usage
end

local function page(what)
    local p = eg.manual and eg.manual(what)
    if not p and type(what) == "string" and what:find "[.:]" then
        return page(what:match "([%w_]+)$" or "")
    end
    return p
end

local function shown(p, width)
    local text = p.text:gsub("%s+$", "")
    return wrap(p.usage .. (text ~= "" and "\n\n" .. text or ""), width) ..
        (p.header ~= "" and "\n\n" .. wrap(("<egret/%s> %s"):format(p.header, p.about), width):gsub("%s+$", "") or "")
end

-- ---- searching -----------------------------------------------------------------------------------

-- Whether the word goes on from one in the name: "gradient" from grad.
local function goes_on(name, word)
    for part in name:gmatch "%a+" do
        if #part >= 4 and word:sub(1, #part) == part then
            return true
        end
    end
end

-- Whether it is an in-place form or one of numbers, whose page is the function's.
local function is_form(name)
    return name:find "_$" or name:find "_scalar$"
end

-- All pages but those: {page, head, name, header, first
-- sentence, the rest}, for searching in small letters.
local function read_pages()
    local all = {}
    for name in pages()() do
        if not is_form(name) then
            local p = eg.manual(name)
            local first, rest = p.text:lower():match "^([^\n.]*)(.*)"
            all[#all + 1] = {page = p, head = head(p), name = name:lower(), header = p.header, first = first,
                             rest = rest .. (p.usage .. " " .. p.about):lower()}
        end
    end
    return all
end

local known
local function all_pages()
    known = known or read_pages()
    return known
end

-- A word as a pattern that it begins with.
local function beginning(word)
    return "%f[%w]" .. word:gsub("%p", "%%%0")
end

-- What a page has to do with a word: most if that is in its name, least if it only is in the text.
local function weight(p, word)
    local at_word = beginning(word)
    return p.name == word and 32 or p.name:find(at_word) and 16 or
        (p.name:find(word, 1, true) or goes_on(p.name, word)) and 8 or p.header:find(word, 1, true) and 4 or
        p.first:find(at_word) and 2 or p.rest:find(at_word) and 1 or 0
end

-- The pages that have to do with all words, the best first: lists {weight, page}.
local function search(words)
    local found = {}
    for _, p in ipairs(all_pages()) do
        local sum = 0
        for word in words:lower():gmatch "%S+" do
            local w = sum and weight(p, #word > 3 and word:gsub("([^s])s$", "%1") or word) or 0
            sum = w > 0 and sum + w or nil
        end
        if sum and sum > 0 then
            found[#found + 1] = {sum, p}
        end
    end
    table.sort(found, function(a, b)
        return a[1] > b[1] or a[1] == b[1] and a[2].head < b[2].head
    end)
    return found
end

-- The same for what is left of words that nobody uses: "schedules", "plotting".
local function search_near(words)
    local found = search(words)
    while #found == 0 and #words > 4 and not words:find "%s" do
        words = words:sub(1, -2)
        found = search(words)
    end
    return found
end

-- The first words of a page, as many as fit.
local function summary(p, width)
    local line = p.text:match "[^\n]*"
    if letters(line) <= width then
        return line
    end
    line = line:sub(1, (utf8.offset(line, width - 2) or width - 2) - 1)
    return line:gsub("%s+%S*$", "") .. " ..."
end

local function listed(found, words, width)
    local lines, widest, most = {}, 0, 24
    for i = 1, math.min(#found, most) do
        widest = math.max(widest, #found[i][2].head)
    end
    for i = 1, math.min(#found, most) do
        local name, room = found[i][2].head, width - widest - 4
        local line = "  " .. name .. (" "):rep(widest - #name)
        lines[#lines + 1] = (line .. "  " .. (room > 16 and summary(found[i][2].page, room) or "")):gsub("%s+$", "")
    end
    if #found > most then
        lines[#lines + 1] = ("  ... and %d more"):format(#found - most)
    end
    return #lines > 0 and ("What has to do with \"%s\":\n%s"):format(words, table.concat(lines, "\n")) or nil
end

-- The page of a name, and where else to look; else what the words find.
local function named(name, width)
    local p = page(name)
    if not p then
        return listed(search_near(name), name, width)
    end
    local others, at_word = {}, beginning(name:lower())
    for other in pages()() do
        if other:find(at_word) and not is_form(other) and other ~= p.name and #others < 8 then
            others[#others + 1] = head(eg.manual(other))
        end
    end
    return shown(p, width) .. (#others > 0 and "\n\n" .. wrap("See also: " .. table.concat(others, ", "), width) or "")
end

-- ---- tables and values ---------------------------------------------------------------------------

-- The functions of eg.nn and its like, or the methods of a value.
local function members(what, width)
    local meta = type(what) == "userdata" and getmetatable(what)
    local from, names = type(what) == "table" and what or nil, {}
    if type(meta) == "table" then
        from = meta.methods or meta.__index
    end
    if type(from) == "table" then
        for name, value in pairs(from) do
            if type(name) == "string" and type(value) == "function" then
                names[#names + 1] = name
            end
        end
    end
    if #names > 0 then
        return (meta and "Methods, x:name(...):\n" or "Functions:\n") .. columns(names, width)
    end
end

local function start(width)
    local seen, names = {}, {}
    for name in pages()() do
        local p = eg.manual(name)
        if p.header ~= "" and not seen[p.header] then
            seen[p.header] = true
            names[#names + 1] = p.header
        end
    end
    return wrap(overview:format(eg.version and eg.version() or "", _VERSION), width) .. columns(names, width)
end

return function(width, what)
    if what == nil then
        return start(width)
    end
    if type(what) == "string" then
        return named(what, width)
    end
    local p = type(what) == "function" and page(what)
    return p and shown(p, width) or type(what) ~= "function" and members(what, width) or nil
end
