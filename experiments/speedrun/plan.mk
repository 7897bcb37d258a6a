# Seconds of a whole run that ends below a loss on tinyshakespeare, measured as often as there are seeds.
columns  = target,seed,seconds,loss,machine,options
order    = sort -u -t , -k 1,1nr -k 2,2n
measured = experiments/speedrun/measure $(folder) $(call full,3,1)
