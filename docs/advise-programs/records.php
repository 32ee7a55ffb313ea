<?php
$file = fopen($argv[1], 'w');
$buffer = '';
for ($i = 0; $i < 20000; $i++) {
    $buffer .= "record $i\n";
    if ($argv[2] == 'each' || strlen($buffer) >= 65536) {
        fwrite($file, $buffer);
        $buffer = '';
    }
}
fwrite($file, $buffer);
