"""The method, in the order data flows: timeline, missing, scale, smooth, windows, cluster, (the network), evidence,
accumulate, events, calibrate. Numbers in, numbers out: no torch, files, clock, printing or global seeds.
"""
