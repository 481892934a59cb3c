-- training.lua - the module egret.run, what training programs need: the command line, the folder, checkpoints, curves.
--
--     local run = require "egret.run" {name = "digits", about = "Learns to read digits.", data = "a folder of MNIST",
--                                epochs = 3, batch = 64, unit = "images", smoke = {steps = 40},
--                                lr = {2e-3, "learning rate"}}                     -- options of its own
--     local train = run:deal(digits:batch(run.batch))
--     run:module("net", net)
--     run:optim("adam", adam)
--     run.saver:dataset("train", train)
--     local step = run:resume_step()
--     while run:goes_on(step, steps) do
--         step = step + 1
--         ...
--         run:note(step, "loss", loss)      -- a point of a curve, and a row of log.jsonl
--         run:checkpoint(step, step % 200 == 0 or step == steps)
--     end
--     run:plot("loss.png", {"loss"}, "Cross entropy")
--     run:picture("digits.png", eg.show, images, {columns = 8})
--     run:finish()                          -- prints the speed of training
--
-- A signal ends the loops after a checkpoint; what follows them is done as after the last step. Nested loops are left by
-- `goto stopped` where run:checkpoint returns true.
--
-- Options are fields: run.batch, run.lr. Curves are lists of numbers, one a step; checkpoints hold them too.
--
-- Under mpirun each process is a rank, run.rank of run.ranks, which learns from its share of every batch: run.batch is that
-- share of what --batch says, gradients and numbers are means of all, and rank 0 alone prints, saves and draws.
local seconds = ... -- of a monotonic clock
local eg = require "egret"
local has_signals, signals = pcall(require, "egret.signals") -- of the program egret; a stock Lua stops where it is

local known = {"data", "out", "device", "epochs", "steps", "batch", "seed", "resume", "smoke"}

--- What each option is by default, and what --help says of it.
local function options_of(about)
    local own = {}
    for name, option in pairs(about) do
        own[#own + 1] = type(option) == "table" and name ~= "smoke" and name or nil
    end
    table.sort(own)
    local options = {
        data = about.data and {nil, about.data}, out = {"egret-out/" .. about.name .. "-lua", "where all that comes out goes"},
        device = {"cpu", "cpu, cuda or cuda:N"}, epochs = about.epochs and {about.epochs, "passes over the data"},
        steps = {0, "steps in all, instead of epochs"}, batch = about.batch and {about.batch, "examples per step"},
        seed = {1, "of weights, order and noise"}, resume = {false, "go on from the latest checkpoint"},
        smoke = {false, "seconds only, and fail unless the loss falls"},
    }
    for _, name in ipairs(own) do
        options[name] = about[name]
    end
    local names = {}
    for _, name in ipairs(known) do
        names[#names + 1] = options[name] and name
    end
    return options, table.move(own, 1, #own, #names + 1, names)
end

local function help(about, options, names)
    print(about.about .. "\n")
    for _, name in ipairs(names) do
        local default, words = options[name][1], options[name][2]
        print(("  --%-10s %s%s"):format(name, words, default and (" (%s)"):format(default) or ""))
    end
    os.exit(0)
end

local function refuse(about, words)
    io.stderr:write(about.name, ": ", words, "; --help lists what there is\n")
    os.exit(2)
end

local function read_options(about, words)
    local options, names = options_of(about)
    local run, given, i = {}, {}, 1
    for name, option in pairs(options) do
        run[name] = option[1]
    end
    while words[i] do
        local name = words[i]:match "^%-%-(%l+)$"
        local default = name and options[name] and options[name][1]
        if name == "help" then
            help(about, options, names)
        elseif not (name and options[name]) then
            refuse(about, words[i] .. " is no option")
        end
        local value = default == false or words[i + 1]
        if type(default) == "number" then
            value = (math.type(default) == "integer" and math.tointeger or tonumber)(tonumber(value))
            value = value and value >= 0 and value < 1e9 and (value > 0 or default == 0 or name == "seed") and value
        end
        if not value or value == "" then
            refuse(about, ("%s wants another value than %s"):format(words[i], words[i + 1] or "none"))
        end
        run[name], given[name] = value, true
        i = i + (default == false and 1 or 2)
    end
    for name, value in pairs(run.smoke and about.smoke or {}) do
        run[name] = given[name] and run[name] or value
    end
    return run
end

-- ---- ranks ------------------------------------------------------------------------------------------

--- Only rank 0 is heard, and only its files stay: those of others are in a folder that goes when they end.
local function be_silent(run)
    local written = {}
    run.out = os.tmpname()
    os.remove(run.out)
    eg.saver(run.out) -- makes it
    run.written = setmetatable(written, {__gc = function()
        for name in pairs(written) do
            os.remove(run.out .. "/" .. name)
        end
        os.remove(run.out)
    end})
    io.output "/dev/null"
    print = function() end
end

local function join(run, about)
    local launched = eg.comm_launched()
    run.rank, run.ranks = launched.rank, launched.ranks
    if run.ranks == 1 then
        return
    end
    run.comm = eg.comm_mpi()
    run.rank, run.ranks = run.comm:rank(), run.comm:size()
    if run.batch and run.batch % run.ranks ~= 0 then
        refuse(about, ("--batch %d cannot be shared out among %d ranks"):format(run.batch, run.ranks))
    end
    run.batch = run.batch and run.batch // run.ranks
    if launched.local_ranks > 1 then
        eg.set_threads(math.max(1, eg.threads() // launched.local_ranks))
    end
    if run.rank > 0 then
        be_silent(run)
    end
end

--- Numbers of all ranks, made one.
local function joined(run, numbers, how)
    if run.ranks == 1 then
        return numbers
    end
    local all = eg.tensor(numbers, "f64")
    run.comm:all_reduce({all}, how)
    return all:table()
end

local function is_there(path)
    local file <close> = io.open(path)
    return file ~= nil
end

-- ---- a run ------------------------------------------------------------------------------------------

local methods = {}
methods.__index = methods

function methods:path(name)
    if self.written then
        self.written[name] = true
    end
    return self.out .. "/" .. name
end

--- Moves a module to the run's device, and adds it to what is saved.
function methods:module(name, net)
    net:to_device(self.device)
    self.saver:module(name, net)
end

--- Adds an optimizer to what is saved; its gradients are the means of all ranks' from now on.
function methods:optim(name, optim)
    if self.ranks > 1 then
        optim:parallel(self.comm)
    end
    self.saver:optim(name, optim)
end

--- A dataset of batches, of which this rank gets every run.ranks-th.
function methods:deal(dataset)
    dataset = self.ranks > 1 and dataset:distribute(self.rank, self.ranks) or dataset
    if dataset:count() == 0 then
        self:refuse_few(dataset:count_before())
    end
    return dataset
end

--- Ends the program: so many samples are less than one batch.
function methods:refuse_few(samples)
    refuse(self.about, ("%d training samples%s are not enough for a batch of %d: use a smaller --batch%s"):format(
        samples, self.ranks > 1 and " of each rank" or "", self.batch, self.about.data and ", or --data with more" or ""))
end

--- Adds a tensor to what is saved of which each rank has its share, along an axis counted from 0.
function methods:share_tensor(name, tensor, axis)
    self.saver:add(name, {
        state = function()
            local own = tensor:transpose(0, axis):contiguous()
            if self.ranks == 1 then
                return {all = own}
            end
            local shape = own:shape()
            shape[1] = shape[1] * self.ranks
            local all = eg.zeros(shape, own:dtype()):to(self.device)
            self.comm:all_gather(own, all)
            return {all = all}
        end,
        load = function(tensors)
            tensor:copy_(self:rows(tensors.all):transpose(0, axis):to(self.device))
        end,
    })
end

--- This rank's rows of tensors that have those of all ranks, for programs that make batches of their own.
function methods:rows(...)
    local tensors = {...}
    for i, x in ipairs(self.ranks > 1 and tensors or {}) do
        local n = #x // self.ranks
        tensors[i] = x[{{self.rank * n + 1, (self.rank + 1) * n}}]
    end
    return table.unpack(tensors)
end

--- The mean of a number over all ranks.
function methods:over_ranks(value)
    return joined(self, {value}, "mean")[1]
end

--- Loads the best weights so far (saver:save_best) into a module that is saved under this name. A run that is stopped
--- before its first evaluation keeps the weights it has.
function methods:best(name, net)
    local is_saved = joined(self, {is_there(self:path "best.safetensors") and 1 or 0}, "max")[1] > 0
    if self.signal and not is_saved then
        return
    end
    local saver = eg.saver(self.out, {comm = self.comm})
    saver:module(name, net)
    saver:restore_from(self:path "best.safetensors", {allow_others = true})
end

--- The step of the latest checkpoint, with all of it put back, if the command line asks for that; else 0.
function methods:resume_step()
    local latest = joined(self, {self.saver:latest()}, "max")[1] -- rank 0's, others have none
    local step = self.resume and latest >= 0 and self.saver:restore() or 0
    self.journal = eg.journal(self:path "log.jsonl", {append = step > 0, last_step = step})
    if self.rank > 0 then -- weights were the same on all; noise is each rank's own
        local random = eg.random_get_state()
        random.seed = random.seed ~ self.rank * 0x9e3779b97f4a7c15
        eg.random_set_state(random)
    end
    return step
end

--- Adds the time of a step to that of training: since the end of the step before, or the beginning of the epoch. The first
--- step does not count.
local function time_step(run, step)
    local now = seconds()
    if run.latest and step > run.latest then
        run.timed, run.took = run.timed + 1, run.took + now - run.since
    end
    run.latest, run.since = step, now
end

--- A step's numbers, at its end: note(7, "loss", loss, ...), tensors or not.
function methods:note(step, ...)
    local fields, numbers = {...}, {}
    for i = 2, #fields, 2 do
        numbers[i // 2] = type(fields[i]) == "number" and fields[i] or fields[i]:item()
    end
    for i, value in ipairs(joined(self, numbers, "mean")) do
        local name = fields[2 * i - 1]
        fields[2 * i] = value
        self.curves[name] = self.curves[name] or {}
        table.insert(self.curves[name], value)
    end
    self.journal:row("step", step, table.unpack(fields))
    time_step(self, step)
end

-- ---- checkpoints, and stopping

--- Whether there are steps left. As long as there are, the first Ctrl-C or SIGTERM does not end the program: the next
--- checkpoint stops the run. A second one ends it.
function methods:goes_on(step, steps)
    local more = step < steps and not self.signal
    if has_signals then
        (more and signals.hold or signals.release)()
    end
    self.since = seconds()
    return more
end

--- A word as a shell wants it: in quotes unless there is nothing in it that could mean something else.
local function quoted(word)
    local plain = word:match "^[%w_+:,./@-]+$" or word:match "^%-[%w_+:,./@=-]+$"
    return plain and word or "'" .. word:gsub("'", "'\\''") .. "'"
end

--- The command line of this run, with --resume.
local function command(run)
    local words, first = {}, 0
    while arg[first - 1] do
        first = first - 1
    end
    for i = first, #arg do
        words[#words + 1] = quoted(arg[i])
    end
    words[#words + 1] = not run.resume and "--resume" or nil
    return table.concat(words, " ")
end

--- After a step: writes a checkpoint if one is due or a signal has come. Returns true if a signal has: the program then
--- leaves its loops. After the last step of an epoch the call comes after all that belongs to the epoch, as a run that goes
--- on there begins with the next one.
function methods:checkpoint(step, due)
    if self.signal then
        return true
    end
    local signal = has_signals and signals.take()
    if self.ranks > 1 then -- all stop after the same step
        local all = joined(self, {signal or 0}, "max")[1] // 1 | 0
        signal = all > 0 and all
    end
    if due or signal then
        self.saver:save(step)
    end
    if signal then
        self.signal, self.stopped_at = signal, step
        if has_signals then
            signals.release()
        end
    end
    self.since = seconds()
    return self.signal ~= nil
end

--- Prints how many of about.unit, or steps, were trained on per second, of all ranks together.
local function print_speed(run)
    local unit = run.about.unit
    if run.timed > 0 and run.took > 0 then
        local speed = run.timed / run.took * (unit and run.batch * run.ranks or 1)
        local digits = speed < 10 and 2 or speed < 100 and 1 or 0
        print(("training: %%.%df %%s per second"):format(digits):format(speed, unit or "steps"))
    end
end

--- Ends the program, as its last call. After a signal it prints the command that goes on, and the exit status is 128 plus
--- the number of the signal.
function methods:finish()
    print_speed(self)
    if self.signal then
        if self.rank == 0 then
            io.stderr:write(("stopped at step %d; go on with: %s\n"):format(self.stopped_at, command(self)))
        end
        os.exit(128 + self.signal, true)
    end
end

--- What show (eg.show, eg.plot, eg.heatmap) makes of values and options: shown as usual, and a file of the folder.
function methods:picture(name, show, what, options)
    local saved = {path = self:path(name)}
    for key, value in pairs(options) do
        saved[key] = value
    end
    show(what, saved)
    if not self.smoke and self.rank == 0 then
        show(what, options)
    end
end

--- A picture of some curves, by their names. Options are eg.plot's, beside: by default labels are the names, and x counts
--- steps. Curves that a stopped run does not have yet are left out.
function methods:plot(name, names, title, options)
    local curves, how = {}, {title = title, labels = {}, xlabel = "step"}
    local labels = options and options.labels or names
    for i, curve in ipairs(names) do
        if self.curves[curve] or not self.signal then
            table.insert(curves, self.curves[curve])
            table.insert(how.labels, labels[i])
        end
    end
    if #curves > 0 then
        how.xlabel = options and options.xlabel or how.xlabel
        how.smooth = how.xlabel == "step" and math.max(0, 1 - 20 / #curves[1]) or 0
        self:picture(name, eg.plot, curves, how)
    end
end

--- A curve of training, its mean over each epoch of so many steps, beside "valid/" and its name, which has a point for each
--- epoch. A run that is stopped before the first evaluation draws each step of training.
function methods:plot_epochs(curve, per_epoch, title)
    local means, valid = {}, self.curves["valid/" .. curve]
    if self.signal and not valid then
        return self:plot(curve .. ".png", {curve}, title)
    end
    for epoch = 1, #valid do
        means[epoch] = self:mean(curve, (epoch - 1) * per_epoch + 1, epoch * per_epoch)
    end
    self:picture(curve .. ".png", eg.plot, {means, valid},
                 {title = title, labels = {"training", "validation"}, xlabel = "epoch"})
end

--- The mean of a curve's points first..last; negative ones count from its end.
function methods:mean(name, first, last)
    local curve, sum = self.curves[name], 0
    first = math.max(first < 0 and #curve + 1 + first or first, 1)
    last = math.min(last or #curve, #curve)
    for i = first, last do
        sum = sum + curve[i]
    end
    return sum / (last - first + 1)
end

--- With --smoke, unless a signal stopped the run: fails unless the curve's last tenth (or other share) is below `part` of its first.
function methods:check(name, part, share)
    local few = math.max(1, #self.curves[name] // (share or 10))
    if self.smoke and not self.signal and not (self:mean(name, -few) < part * self:mean(name, 1, few)) then
        error(("%s did not fall"):format(name), 0)
    end
end

--- A run that begins anew puts aside what an earlier one left in the folder.
local function put_aside(folder)
    local n = 1
    while is_there(folder .. "-earlier-" .. n) do
        n = n + 1
    end
    assert(os.rename(folder, folder .. "-earlier-" .. n))
end

return function(about)
    local run = setmetatable(read_options(about, arg or {}), methods)
    run.about = about
    run.curves, run.out = {}, run.out:gsub("(.)/+$", "%1")
    run.timed, run.took = 0, 0
    io.stdout:setvbuf "line"
    join(run, about)
    if run.rank == 0 and not run.resume and is_there(run:path "log.jsonl") then
        put_aside(run.out)
    end
    run.saver = eg.saver(run.out, {keep = 3, highest = true, comm = run.comm})
    run.saver:add("curves", {
        state = function()
            local tensors = {}
            for name, curve in pairs(run.curves) do
                tensors[name] = eg.tensor(curve, "f64")
            end
            return tensors
        end,
        load = function(tensors)
            for name, curve in pairs(tensors) do
                run.curves[name] = curve:table()
            end
        end,
    })
    eg.seed(run.seed)
    return run
end
