// Opens the page in a real headless Chromium and prints what it saw as one JSON document.
// node check.cjs <page.html> <folder for pictures> <chromium>
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const [page_path, pictures, executablePath] = process.argv.slice(2);
const url = "file://" + path.resolve(page_path);
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// What must be reachable by keyboard: links, summaries and scrolling regions that are shown.
const FOCUSABLE = "a[href], summary, [tabindex='0']";

// Runs in the page: every picture with its marks and the rows of the table under it.
function charts() {
  const fill = (svg, tag, colour) => svg.querySelectorAll(`${tag}[fill="${colour}"]`).length;
  return [...document.querySelectorAll("figure[data-chart]")].map((figure) => {
    const svg = figure.querySelector("svg");
    const table = figure.nextElementSibling.querySelector("table");
    const rows = [...table.querySelectorAll("tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
    const seen = { kind: figure.dataset.chart, id: figure.closest("article").id, svg: !!svg, rows: rows.length };
    if (!svg) return seen;
    seen.title = svg.querySelector("title").textContent;
    seen.alternative = svg.querySelector("desc").textContent;
    if (seen.kind === "scatter") {
      seen.marks = svg.querySelectorAll("circle").length + fill(svg, "rect", "#6B3FA0") + fill(svg, "polygon", "#8A5A00");
      seen.expected = rows.filter((cells) => cells[2] !== "unknown" && cells[3] !== "unknown").length;
    } else if (seen.kind === "speeds") {
      seen.marks = fill(svg, "rect", "#3F7FBF") + fill(svg, "rect", "#9DB8D6");
      seen.expected = rows.filter((cells) => cells[1] !== "unknown").length + rows.filter((cells) => cells[4] !== "unknown").length;
    } else {
      const shown = rows.filter((cells) => cells[3] !== "unknown" && cells[4] !== "unknown" && cells[2] !== "use unknown");
      seen.marks = fill(svg, "rect", "#3F7FBF");
      seen.expected = shown.length;
      seen.now = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() === "now").length;
    }
    return seen;
  });
}

// Presses Tab until the focus leaves the page or comes back to where it began.
async function tabbed(page) {
  const wanted = await page.evaluate((selector) => {
    const shown = [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
    shown.forEach((one, i) => one.setAttribute("data-focus", String(i)));
    return shown.length;
  }, FOCUSABLE);
  const reached = new Set();
  for (let i = 0; i < wanted + 5; i += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => document.activeElement.getAttribute("data-focus"));
    if (at !== null) reached.add(at);
  }
  return { wanted, reached: reached.size };
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const seen = { errors: [], requests: [], violations: [], views: [] };
  for (const [name, width, colorScheme] of [["phone", 375, "light"], ["tablet", 820, "light"], ["desktop", 1440, "light"], ["dark", 1440, "dark"]]) {
    // The policy of the page forbids scripts, and must: axe comes in past it.
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
    page.on("pageerror", (error) => seen.errors.push(String(error)));
    page.on("request", (request) => request.url() !== url && seen.requests.push(request.url()));
    await page.goto(url);
    await page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage: true });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    await page.evaluate(axe);
    const result = await page.evaluate(() => window.axe.run());
    for (const violation of result.violations) {
      const nodes = violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160));
      seen.violations.push({ view: name, id: violation.id, impact: violation.impact, count: violation.nodes.length, nodes });
    }
    seen.views.push({ name, overflow, passes: result.passes.length });
    if (name === "desktop") {
      seen.charts = await page.evaluate(charts);
      seen.keyboard = await tabbed(page);
    }
    await context.close();
  }
  // Once more as a reader opens it, with the page's own policy in force.
  const plain = await browser.newPage();
  plain.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
  plain.on("request", (request) => request.url() !== url && seen.requests.push(request.url()));
  await plain.goto(url);
  seen.styled = await plain.evaluate(() => getComputedStyle(document.body).margin);
  await browser.close();
  console.log(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
