-- Prices a portfolio of options by the formula of Black and Scholes, and says
-- what it would be worth if volatilities were lower or higher.
--
-- This version reads the whole portfolio into records first. CASES.md tells
-- what a profile of it shows; options.lua is the repaired version.
--
--   luajit -jm=flx examples/options-wasteful.lua [work, default 1]

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

-- Reading ------------------------------------------------------------------

local names = { "spot", "strike", "rate", "yield", "volatility", "years",
  "kind", "dividends", "check" }

local function read_portfolio(name)
  local records = {}
  for line in io.lines(name) do
    local record, n = {}, 0
    for field in line:gmatch("%S+") do
      n = n + 1
      record[names[n]] = field
    end
    records[#records+1] = record
  end
  return records
end

local function split(records)
  local columns = {}
  for _, name in ipairs(names) do
    local column = {}
    for _, record in ipairs(records) do
      column[#column+1] = tonumber(record[name]) or record[name]
    end
    columns[name] = column
  end
  return columns
end

-- Pricing ------------------------------------------------------------------

local shifts = { 0, -0.05, -0.02, 0.02, 0.05, 0.1 }

local function value(t, shift)
  local sum, wrong = 0, 0
  for i = 1, #t.kind do
    local p = price(t.kind[i], t.spot[i], t.strike[i], t.rate[i], t.yield[i],
      t.volatility[i] + shift, t.years[i])
    sum = sum + p
    if math.abs(p - t.check[i]) > 0.5 then wrong = wrong + 1 end
  end
  return sum, wrong
end

local name = os.tmpname()
write_portfolio(name, math.ceil(300000 * work))

local records = read_portfolio(name)
local columns = split(records)
for _, shift in ipairs(shifts) do
  local sum, wrong = value(columns, shift)
  print(("volatility %+.2f  %.2f"):format(shift, sum), #records,
    shift == 0 and wrong.." wrong" or "")
end
os.remove(name)
