$stdout.sync = ARGV[0] == 'each'
20000.times { |i| puts "record #{i}" }
