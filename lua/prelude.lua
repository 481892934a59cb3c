-- prelude.lua - the part of the module that Lua says better than C.
local eg = ...

local f32 = "f32"

--- Uniform in 0..1, and normal: eg.rand{3, 4}, eg.randn({3, 4}, "f64").
function eg.rand(shape, dtype)
    return eg.uniform(shape, 0, 1, dtype or f32)
end

function eg.randn(shape, dtype)
    return eg.normal(shape, 0, 1, dtype or f32)
end

--- loss, dx, ... = eg.grad(f, x, ...): what f() returns first, and its derivatives. Each x is a parameter
--- (x:requires_grad()), or is watched while f runs.
function eg.grad(f, ...)
    local tape, xs = eg.tape(), {...}
    local function work()
        for i = 1, #xs do
            if not xs[i]:is_parameter() then
                tape:watch(xs[i])
            end
        end
        local y = f()
        return y, tape:gradients(y, xs)
    end
    local well, y, gradients = pcall(work)
    tape:close()
    if not well then
        error(y, 0)
    end
    return y, table.unpack(gradients)
end

--- The values of a safetensors map, or any eg.tensors: for name, tensor in eg.each(map) do.
function eg.each(map)
    local i, n = -1, map:count()
    return function()
        i = i + 1
        if i < n then
            return map:name(i), map:at(i)
        end
    end
end
