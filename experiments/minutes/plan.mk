# What --minutes chooses, beside the default options stopped after the same time, on four texts.
columns  = text,minutes,options,seconds,loss,updates,parameters,machine
order    = sort -u -t , -k 1,1 -k 2,2n -k 3,3
measured = experiments/minutes/measure $(folder) $(call full,1 5 20,0.05)
