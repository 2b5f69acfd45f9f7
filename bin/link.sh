# Links `vedette`, and the `node` of this platform, where npm scripts find their commands. npm links `node`
# itself, but version 10 removes that link together with the packages for other platforms, whose command has
# the same name.
cd node_modules/.bin || exit
ln -sfn ../../bin/vedette.js vedette
for node in ../node-*/bin/node; do
  if [ -x "$node" ]; then ln -sfn "$node" node; fi
done
# Headers for native addons, 67 MB: nothing here compiles any.
rm -rf ../node-*/include
