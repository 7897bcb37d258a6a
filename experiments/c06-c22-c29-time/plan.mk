# Claims C6, C22, C29: time and memory of a token by length, measured by ./bench as often as there are seeds.
columns  = attn,length,seed,ns,bytes,machine
order    = sort -u -t , -k 1,1 -k 2,2n -k 3,3n
measured = experiments/c06-c22-c29-time/measure $(folder) $(call full,5,1)
