// Lines for standard output.
let lines = ""; // new
for (let i = 0; i < 2000; i++) {
    console.log(`line ${i}`); // old
    lines += `line ${i}\n`; // new
}
process.stdout.write(lines); // new
