-- Prices a portfolio of options by the formula of Black and Scholes, and says
-- what it would be worth if volatilities were lower or higher.
--
-- This version prices each line as it is read and keeps sums only. CASES.md
-- tells how a profile of options-wasteful.lua led to it.
--
--   luajit -jm=flx examples/options.lua [work, default 1]

local work = tonumber(arg and arg[1]) or 1

-- The formula --------------------------------------------------------------

-- The normal distribution, by a polynomial.
local function normal(x)
  local k = 1 / (1 + 0.2316419 * math.abs(x))
  local poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 +
    k * (-1.821255978 + k * 1.330274429))))
  local tail = 0.3989422804 * math.exp(-x * x / 2) * poly
  return x < 0 and tail or 1 - tail
end

local function price(kind, spot, strike, rate, yield, volatility, years)
  local spread = volatility * math.sqrt(years)
  local d1 = (math.log(spot / strike) +
    (rate - yield + volatility * volatility / 2) * years) / spread
  local share = spot * math.exp(-yield * years)
  local cash = strike * math.exp(-rate * years)
  if kind == "C" then
    return share * normal(d1) - cash * normal(d1 - spread)
  end
  return cash * normal(spread - d1) - share * normal(-d1)
end

-- A portfolio to work on ---------------------------------------------------

local seed = 11

local function random(from, to)
  seed = (seed * 16807) % 2147483647
  return from + (to - from) * seed / 2147483647
end

-- Lines of nine columns: spot, strike, rate, yield, volatility, years, kind,
-- dividends paid so far, and a price to check against, now and then wrong.
local function write_portfolio(name, n)
  local file = assert(io.open(name, "w"))
  for i = 1, n do
    local kind = random(0, 1) < 0.5 and "C" or "P"
    local spot, strike = random(20, 180), random(20, 180)
    local rate, yield = random(0.01, 0.06), random(0, 0.03)
    local volatility, years = random(0.1, 0.6), random(0.1, 3)
    local check = price(kind, spot, strike, rate, yield, volatility, years)
    if i % 1000 == 0 then check = check + 1 end
    file:write(("%.4f %.4f %.5f %.5f %.5f %.4f %s %.2f %.4f\n"):format(spot,
      strike, rate, yield, volatility, years, kind, random(0, 9), check))
  end
  file:close()
end

-- Reading and pricing ------------------------------------------------------

local fields = ("(%S+) "):rep(8).."(%S+)"
local shifts = { 0, -0.05, -0.02, 0.02, 0.05, 0.1 }

local function value_portfolio(name)
  local sums, count, wrong = {}, 0, 0
  for k = 1, #shifts do sums[k] = 0 end
  for line in io.lines(name) do
    local spot, strike, rate, yield, volatility, years, kind, _, check =
      line:match(fields)
    spot, strike, rate = tonumber(spot), tonumber(strike), tonumber(rate)
    yield, volatility = tonumber(yield), tonumber(volatility)
    years, check = tonumber(years), tonumber(check)
    for k = 1, #shifts do
      local p = price(kind, spot, strike, rate, yield, volatility + shifts[k],
        years)
      sums[k] = sums[k] + p
      if shifts[k] == 0 and math.abs(p - check) > 0.5 then wrong = wrong + 1 end
    end
    count = count + 1
  end
  return sums, count, wrong
end

local name = os.tmpname()
write_portfolio(name, math.ceil(300000 * work))

local sums, count, wrong = value_portfolio(name)
for k, shift in ipairs(shifts) do
  print(("volatility %+.2f  %.2f"):format(shift, sums[k]), count,
    shift == 0 and wrong.." wrong" or "")
end
os.remove(name)
