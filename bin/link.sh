# Puts `vedette`, and the `node` of this platform, where npm finds the commands of its scripts. npm links the
# latter itself, but version 10 takes it away again with the parts for other platforms, whose command has the
# same name.
cd node_modules/.bin || exit
ln -sfn ../../bin/vedette.js vedette
for node in ../node-*/bin/node; do
  if [ -x "$node" ]; then ln -sfn "$node" node; fi
done
# Headers for native addons, 67 MB: nothing here compiles any.
rm -rf ../node-*/include
