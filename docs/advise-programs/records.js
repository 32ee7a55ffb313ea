const fs = require('fs');
const file = fs.openSync(process.argv[2], 'w');
let parts = [], length = 0;
for (let i = 0; i < 20000; i++) {
  const record = `record ${i}\n`;
  if (process.argv[3] === 'each') { fs.writeSync(file, record); continue; }
  parts.push(record);
  length += record.length;
  if (length >= 65536) { fs.writeSync(file, parts.join('')); parts = []; length = 0; }
}
if (length > 0) fs.writeSync(file, parts.join(''));
