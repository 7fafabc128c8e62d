import json,os,socket
s=socket.socket(fileno=os.dup(0))
n=os.open(os.devnull,os.O_RDONLY);os.dup2(n,0);os.close(n)
f=s.makefile("rwb")
p=json.loads(f.read(int.from_bytes(f.read(4),"big")))
exec(compile(p["program"],"<abx worker>","exec"),{"__name__":"_abx_worker","channel":f,"helper":p["helper"]})
